using System.Globalization;

namespace Weir.Runtimes;

/// <summary>One decision of an <see cref="AutoRuntime"/> in one call: the time, the change, and the measured reason. Immutable.</summary>
public sealed record AutoDecision
{
    /// <summary>The time since the start of the call, by the system's clock.</summary>
    public required TimeSpan At { get; init; }

    /// <summary>How many items of the call had ended.</summary>
    public required long Items { get; init; }

    /// <summary>How items ran before.</summary>
    public required AutoMode From { get; init; }

    /// <summary>How items run from then on; the same as <see cref="From"/> if only a budget changed.</summary>
    public required AutoMode To { get; init; }

    /// <summary>How many threads the call may keep busy with synchronous work from then on.</summary>
    public required int Threads { get; init; }

    /// <summary>How many of its items may be in flight from then on.</summary>
    public required int InFlight { get; init; }

    /// <summary>The reason, with the measured figures. The text is for people, and its wording may change.</summary>
    public required string Reason { get; init; }

    /// <inheritdoc/>
    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{At.TotalMilliseconds:0.00} ms, {Items:#,0} items: {Move}, threads {Threads:#,0}, in flight {InFlight:#,0}: {Reason}");

    private string Move => From == To ? Word(To) : $"{Word(From)} -> {Word(To)}";

    private static string Word(AutoMode mode) => mode.ToString().ToLowerInvariant();
}

/// <summary>How an <see cref="AutoRuntime"/> runs the items of a call at a given moment.</summary>
public enum AutoMode
{
    /// <summary>It measures the first items and has not chosen yet.</summary>
    Probe = 0,

    /// <summary>One item after the other on one thread, with nothing between two items.</summary>
    Direct,

    /// <summary>On as many threads as there are processors, because items compute.</summary>
    Parallel,

    /// <summary>Many items in flight on few threads, because items wait.</summary>
    Concurrent,

    /// <summary>As many threads as there are processors for items that compute, and many items in flight for those that wait.</summary>
    Mixed,

    /// <summary>Many threads, because items block their thread while they wait.</summary>
    Blocking,
}

/// <summary>The outcomes of a call of an <see cref="AutoRuntime"/>, and the decisions on how it ran. Immutable.</summary>
/// <typeparam name="TItem">The type of the items.</typeparam>
/// <typeparam name="TResult">The type of the results.</typeparam>
public sealed class AutoResult<TItem, TResult>
{
    internal AutoResult(IReadOnlyList<ItemOutcome<TItem, TResult>> outcomes, IReadOnlyList<AutoDecision> decisions)
    {
        Outcomes = outcomes;
        Decisions = decisions;
    }

    /// <summary>One outcome per item, in input order.</summary>
    public IReadOnlyList<ItemOutcome<TItem, TResult>> Outcomes { get; }

    /// <summary>
    /// The decisions, in chronological order. Empty if the call ended before the first decision. If there are more than 64, the first and the latest are kept.
    /// </summary>
    public IReadOnlyList<AutoDecision> Decisions { get; }
}
