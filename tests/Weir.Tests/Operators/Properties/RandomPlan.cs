using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Properties;

/// <summary>What one item does.</summary>
internal enum Behaviour
{
    Sync,
    Spins,
    Yields,
    YieldsOften,

    /// <summary>Ends when another item or the sweeper gets to it, on whose thread its continuation runs.</summary>
    HandedOver,

    /// <summary>Like it, but its token ends it too.</summary>
    HandedOverOrCancelled,
    ThrowsAtOnce,
    ThrowsLater,
}

/// <summary>What ends a run before its end.</summary>
internal enum EarlyEnd
{
    None,

    /// <summary>The consumer of a stream leaves after some results.</summary>
    Break,

    /// <summary>The consumer of a stream throws after some results.</summary>
    ConsumerThrows,

    /// <summary>An item cancels the caller's token.</summary>
    Cancel,

    /// <summary>The source throws at an item.</summary>
    SourceThrows,

    /// <summary>The error hook says stop.</summary>
    HookStops,
}

/// <summary>A run of an operator that was thought up by chance.</summary>
internal sealed record RandomPlan
{
    public required OperatorFamily Family { get; init; }

    public required SourceKind Kind { get; init; }

    public required ErrorMode Mode { get; init; }

    public required int Limit { get; init; }

    public required int Capacity { get; init; }

    public required EarlyEnd End { get; init; }

    /// <summary>The item or the number of results at which the early end comes.</summary>
    public required int EndAt { get; init; }

    public required bool ItemHooks { get; init; }

    public required bool PauseHooks { get; init; }

    /// <summary>Whether items have a time limit, on a clock that stands.</summary>
    public required bool Timed { get; init; }

    public required Behaviour[] Items { get; init; }

    public static RandomPlan From(int seed)
    {
        Random random = new(seed);
        OperatorFamily family = Pick(random, Cases.Families);
        SourceKind kind = Pick(random, Cases.Kinds);
        EarlyEnd end = random.Next(2) == 0 ? EarlyEnd.None : Pick(random, Enum.GetValues<EarlyEnd>());
        if ((end is EarlyEnd.Break or EarlyEnd.ConsumerThrows && !family.IsStream())
            || (end == EarlyEnd.SourceThrows && !Cases.Recorded.Contains(kind)))
        {
            end = EarlyEnd.Cancel;
        }

        int count = random.Next(4) switch
        {
            0 => random.Next(4),
            1 => random.Next(20),
            2 => random.Next(100),
            _ => random.Next(400),
        };

        // Some runs of one kind of item, some of many kinds, and failures rare or frequent.
        Behaviour[] kinds = [.. Enumerable.Range(0, 1 + random.Next(4)).Select(_ => (Behaviour)random.Next((int)Behaviour.ThrowsAtOnce))];
        int failures = random.Next(3) == 0 ? 1 + random.Next(30) : 0;
        return new RandomPlan
        {
            Family = family,
            Kind = kind,
            Mode = Pick(random, Cases.Modes),
            Limit = random.Next(5) == 0 ? 1_000 : 1 + random.Next(8),
            Capacity = 1 + random.Next(random.Next(3) == 0 ? 200 : 6),
            End = end,
            EndAt = random.Next(Math.Max(1, count)),
            ItemHooks = random.Next(4) == 0,
            PauseHooks = random.Next(4) == 0,
            Timed = random.Next(4) == 0,
            Items = [.. Enumerable.Range(0, count).Select(_ =>
                random.Next(100) < failures ? Pick(random, [Behaviour.ThrowsAtOnce, Behaviour.ThrowsLater]) : Pick(random, kinds))],
        };
    }

    /// <summary>Simpler plans, one of which may fail too.</summary>
    public static IEnumerable<RandomPlan> Shrink(RandomPlan plan)
    {
        int count = plan.Items.Length;
        foreach (int fewer in new[] { count / 2, count - 1 }.Where(n => n >= 0 && n < count))
        {
            yield return plan with { Items = plan.Items[..fewer], EndAt = Math.Min(plan.EndAt, Math.Max(0, fewer - 1)) };
        }

        if (plan.ItemHooks || plan.PauseHooks || plan.Timed)
        {
            yield return plan with { ItemHooks = false, PauseHooks = false, Timed = false };
        }

        if (plan.Limit > 1)
        {
            yield return plan with { Limit = plan.Limit / 2 };
        }

        if (plan.End != EarlyEnd.None)
        {
            yield return plan with { End = EarlyEnd.None };
        }

        if (plan.Items.Any(static b => b is not Behaviour.Sync and < Behaviour.ThrowsAtOnce))
        {
            yield return plan with { Items = [.. plan.Items.Select(static b => b < Behaviour.ThrowsAtOnce ? Behaviour.Sync : b)] };
        }
    }

    public override string ToString() =>
        $"{Family} over {Kind}, {Mode}, limit {Limit}, capacity {Capacity}, {End} at {EndAt}"
        + $"{(ItemHooks ? ", item hooks" : "")}{(PauseHooks ? ", pause hooks" : "")}{(Timed ? ", timed" : "")}; "
        + $"{Items.Length} items: {string.Join(' ', Items.GroupBy(static b => b).Select(static g => $"{g.Key} x{g.Count()}"))}";

    private static T Pick<T>(Random random, IReadOnlyList<T> from) => from[random.Next(from.Count)];
}
