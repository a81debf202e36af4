using System.Globalization;
using System.Runtime.InteropServices;
using Weir.Observability;

namespace Weir.Core.Live;

// How a bottleneck is named.
//
// While a watch looks, each run and block is asked some times a second what its workers do at that moment (StageSample). It answers from fields that it has
// anyway, so a message costs nothing. What is busy counts as such, and the rest of the workers counts for the one reason that keeps them from work. The shares
// of all moments, of which older ones count less (StageShares), are the shares of time: each is off by the square root of p (1 - p) / n, with n the samples
// of some seconds.
//
// Busy, idle and blocked are those of Flink: blocked is what cannot be handed on, idle is what has not come. In a run, the largest share says what limits it.
// In a network, it is the block that is most busy; without one, what keeps most workers from work.

/// <summary>Why workers that are not busy are not.</summary>
internal enum StageRest : byte
{
    /// <summary>Nothing has come: the source is being read, or a block has no message.</summary>
    Source,

    /// <summary>What was made cannot be handed on.</summary>
    Output,

    /// <summary>Items wait out the delay before their next attempt.</summary>
    Retry,

    /// <summary>Items wait for an open circuit.</summary>
    Circuit,

    /// <summary>Items wait for a permit of a shared limit.</summary>
    Permit,

    /// <summary>Items wait for a rate limit.</summary>
    Rate,

    /// <summary>Items wait for others of their key.</summary>
    Key,

    /// <summary>There is work, and no thread for it.</summary>
    Pool,

    /// <summary>The block takes fewer messages than it has workers.</summary>
    Bound,

    /// <summary>Nothing is left.</summary>
    Tail,

    /// <summary>The run needs no more: as many as there are processors compute.</summary>
    Enough,
}

/// <summary>What the workers of a run or a block do at one moment.</summary>
/// <param name="Busy">Which share of them works.</param>
/// <param name="Rest">Why the others do not.</param>
/// <param name="Workers">How many there may be.</param>
/// <param name="Waiting">Which share of those that work holds a thread that waits inside the call.</param>
/// <param name="HasOutput">Whether there are results that nobody has taken.</param>
/// <param name="IsHeld">Whether as many items wait for a circuit, a permit or a rate as there are workers free: more workers would only wait too.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct StageSample(double Busy, StageRest Rest, long Workers, double Waiting = 0, bool HasOutput = false, bool IsHeld = false);

/// <summary>The shares of time of one run or block. For one thread at a time.</summary>
internal sealed class StageShares
{
    /// <summary>After so long, a moment counts 1/e.</summary>
    private static readonly TimeSpan Memory = TimeSpan.FromSeconds(5);

    private readonly double[] _rest = new double[Enum.GetValues<StageRest>().Length];
    private double _weight;
    private double _busy;
    private double _waiting;
    private double _output;
    private double _held;
    private DateTimeOffset _last;

    /// <summary>How many workers there may be.</summary>
    public long Workers { get; private set; }

    /// <summary>Whether there is enough to judge from.</summary>
    public bool IsKnown => _weight >= 3;

    public double Busy => _busy / _weight;

    /// <summary>Of those that work, the share that holds a thread that waits.</summary>
    public double Waiting => _busy > 0 ? _waiting / _busy : 0;

    /// <summary>The share of moments at which there were results that nobody had taken.</summary>
    public double HasOutput => _output / _weight;

    /// <summary>The share in which workers are free and each of them would have to wait.</summary>
    public double Held => _held / _weight;

    public double Of(StageRest rest) => _rest[(int)rest] / _weight;

    public void Add(in StageSample sample, DateTimeOffset now)
    {
        double keep = _weight == 0 ? 0 : Math.Exp(-Math.Max(0, (now - _last) / Memory));
        _last = now;
        _weight = (_weight * keep) + 1;
        _busy = (_busy * keep) + sample.Busy;
        _waiting = (_waiting * keep) + (sample.Busy * sample.Waiting);
        _output = (_output * keep) + (sample.HasOutput ? 1 : 0);
        _held = (_held * keep) + (sample.IsHeld ? 1 - sample.Busy : 0);
        for (int i = 0; i < _rest.Length; i++)
        {
            _rest[i] = (_rest[i] * keep) + ((StageRest)i == sample.Rest ? 1 - sample.Busy : 0);
        }

        Workers = sample.Workers;
    }
}

/// <summary>Names the bottleneck of a run or a network.</summary>
internal static class Bottlenecks
{
    /// <summary>From this share of time on, something limits the rest.</summary>
    private const double Limits = 0.5;

    /// <summary>A smaller share of time limits nothing.</summary>
    private const double Noticed = 0.2;

    /// <summary>Adds its stages and its bottleneck to the entry of a run.</summary>
    public static void OfRun(LiveEntry run, StageShares shares)
    {
        double busy = shares.Busy + shares.Of(StageRest.Enough);
        double source = shares.Of(StageRest.Source);
        double output = shares.Of(StageRest.Output);
        double tail = shares.Of(StageRest.Tail);
        LiveStage[] stages =
        [
            new() { Name = "source", Busy = source, Blocked = 1 - source - tail, Idle = tail, Workers = 1 },
            new() { Name = "work", Busy = busy, Blocked = output, Idle = 1 - busy - output, Workers = shares.Workers },
            new() { Name = "consumer", Busy = output, Blocked = 0, Idle = 1 - output, Workers = 1 },
        ];
        double policy = shares.Of(StageRest.Retry) + shares.Of(StageRest.Circuit) + shares.Of(StageRest.Permit) + shares.Of(StageRest.Rate);
        ReadOnlySpan<(double Share, LiveReason Reason, int Stage)> causes =
        [
            (busy, shares.Waiting >= Limits ? LiveReason.Waiting : LiveReason.SlowStage, 1),
            (source, LiveReason.SlowSource, 0),
            (output, LiveReason.SlowConsumer, 2),
            (policy, LiveReason.Policy, 1),
            (shares.Of(StageRest.Key), LiveReason.HotKey, 1),
            (shares.Of(StageRest.Pool), LiveReason.StarvedPool, 1),
        ];
        (double share, LiveReason reason, int stage) = causes[0];
        foreach ((double Share, LiveReason Reason, int Stage) cause in causes[1..])
        {
            if (cause.Share > share)
            {
                (share, reason, stage) = cause;
            }
        }

        // However busy the others are: where each free worker would have to wait for a policy, more workers gain nothing.
        if (reason is LiveReason.SlowStage or LiveReason.Waiting && shares.Held >= Noticed)
        {
            (share, reason) = (policy, LiveReason.Policy);
        }

        if (share <= tail || share < Noticed)
        {
            run.SetStages(stages, null);
            return;
        }

        // As many workers as compute already are all that the processors can use.
        double? gain = reason == LiveReason.SlowStage && shares.Busy > shares.Of(StageRest.Enough) ? Gain(shares.Workers, Math.Max(source, output)) : null;
        string sentence = reason switch
        {
            LiveReason.SlowStage => $"`work` is busy {Percent(busy)} on {Active(run)} of {Workers(shares.Workers)}; `source` is blocked {Percent(stages[0].Blocked)}{GainOf(shares.Workers, gain)}",
            LiveReason.Waiting => $"`work` is busy {Percent(busy)} on {Active(run)} of {Workers(shares.Workers)}, and {Percent(shares.Waiting)} of that time its calls hold threads that wait, as for a lock or a blocking call; more workers gain nothing at a lock",
            LiveReason.SlowSource => $"`work` idles {Percent(1 - busy - output)} because `source` gives items too slowly: it is being read {Percent(source)} of the time",
            LiveReason.SlowConsumer => $"`work` is blocked {Percent(output)} because `consumer` takes results too slowly",
            LiveReason.Policy => $"`work` idles {Percent(share)} while items wait for {Waits(shares)}",
            LiveReason.HotKey => $"`work` idles {Percent(share)} while items wait for others of their key: few keys have most of the items, and those of one key go one after the other",
            _ => $"`work` idles {Percent(share)} while it waits for a thread: those of the pool or runtime are taken by other work",
        };
        run.SetStages(stages, new LiveBottleneck { Stage = stages[stage].Name, Reason = reason, Gain = gain, Sentence = sentence + "." });
    }

    /// <summary>Adds its stages and its bottleneck to the entry of a network.</summary>
    /// <param name="network">The entry of the network.</param>
    /// <param name="blocks">Its blocks, with their shares as far as they are known.</param>
    /// <param name="contentions">How often a second a thread of the process found a lock taken.</param>
    public static void OfNetwork(LiveEntry network, IReadOnlyList<(LiveEntry Block, StageShares? Shares)> blocks, double contentions)
    {
        List<(LiveEntry Block, StageShares Shares, LiveStage Stage)> known = [];
        foreach ((LiveEntry block, StageShares? shares) in blocks)
        {
            if (shares is { IsKnown: true })
            {
                double blocked = shares.Of(StageRest.Output);
                known.Add((block, shares, new LiveStage
                {
                    Name = block.Name ?? block.Type, Id = block.Id, Busy = shares.Busy, Blocked = blocked, Idle = 1 - shares.Busy - blocked, Workers = shares.Workers,
                }));
            }
        }

        if (known.Count == 0)
        {
            return;
        }

        network.SetStages([.. known.Select(static block => block.Stage)], Name(known, contentions));
    }

    private static LiveBottleneck? Name(List<(LiveEntry Block, StageShares Shares, LiveStage Stage)> blocks, double contentions)
    {
        (LiveEntry Block, StageShares Shares, LiveStage Stage) most = blocks.MaxBy(static block => block.Stage.Busy);
        (LiveEntry Block, StageShares Shares, LiveStage Stage) bound = blocks.MaxBy(static block => block.Shares.Of(StageRest.Bound));
        (LiveEntry Block, StageShares Shares, LiveStage Stage) pool = blocks.MaxBy(static block => block.Shares.Of(StageRest.Pool));
        double next = blocks.Where(block => block.Stage != most.Stage).Select(static block => block.Stage.Busy).DefaultIfEmpty(0).Max();

        // A block that is full with fewer messages than workers is as busy as it can be.
        if (bound.Shares.Of(StageRest.Bound) > 0.1 && bound.Stage.Busy + bound.Shares.Of(StageRest.Bound) >= Math.Max(Limits, most.Stage.Busy))
        {
            return Made(bound.Stage, LiveReason.SmallBound, null,
                $"`{bound.Stage.Name}` takes at most {bound.Block.Capacity} messages, so {Percent(bound.Shares.Of(StageRest.Bound))} of its {Workers(bound.Shares.Workers)} have nothing to do");
        }

        if (most.Stage.Busy >= Limits)
        {
            double rate = most.Block.Rate1s ?? most.Block.Rate ?? 0;
            if (most.Shares.Workers > 1 && rate > 0 && contentions >= rate / 2)
            {
                return Made(most.Stage, LiveReason.Waiting, null,
                    $"`{most.Stage.Name}` is busy {Percent(most.Stage.Busy)} on {Active(most.Block)} of {Workers(most.Shares.Workers)}, and threads find a lock taken {contentions.ToString("F0", CultureInfo.InvariantCulture)} times a second; more workers gain nothing at a lock");
            }

            double gain = Gain(most.Shares.Workers, next);
            LiveStage? other = blocks.Where(block => block.Stage != most.Stage).Select(static block => block.Stage).MaxBy(static stage => stage.Idle);
            return Made(most.Stage, LiveReason.SlowStage, gain,
                $"`{most.Stage.Name}` is busy {Percent(most.Stage.Busy)} on {Active(most.Block)} of {Workers(most.Shares.Workers)}"
                + (other is null ? "" : $"; `{other.Name}` idles {Percent(other.Idle)}") + GainOf(most.Shares.Workers, gain));
        }

        if (pool.Shares.Of(StageRest.Pool) >= Limits)
        {
            return Made(pool.Stage, LiveReason.StarvedPool, null,
                $"`{pool.Stage.Name}` has messages and no thread {Percent(pool.Shares.Of(StageRest.Pool))} of the time: those of its scheduler are taken by other work");
        }

        // The last blocks have results, and nobody takes them.
        (LiveEntry Block, StageShares Shares, LiveStage Stage)[] last = [.. blocks.Where(static block => block.Block.Feeds is not { Count: > 0 })];
        if (last.Length > 0 && last.MaxBy(static block => block.Shares.HasOutput) is var kept && kept.Shares.HasOutput >= Limits)
        {
            return Made(kept.Stage, LiveReason.SlowConsumer, null,
                $"`{kept.Stage.Name}` has results {Percent(kept.Shares.HasOutput)} of the time that nobody takes");
        }

        HashSet<string> fed = [.. blocks.SelectMany(static block => block.Block.Feeds ?? [])];
        (LiveEntry Block, StageShares Shares, LiveStage Stage)[] first = [.. blocks.Where(block => !fed.Contains(block.Block.Id))];
        return first.Length > 0 && first.MaxBy(static block => block.Stage.Idle) is var waits && waits.Shares.Of(StageRest.Source) >= Limits && waits.Block.Rate1m is not 0
            ? Made(waits.Stage, LiveReason.SlowSource, null, $"`{waits.Stage.Name}` idles {Percent(waits.Stage.Idle)} because messages come too slowly")
            : null;
    }

    private static LiveBottleneck Made(LiveStage stage, LiveReason reason, double? gain, string sentence) =>
        new() { Stage = stage.Name, Id = stage.Id, Reason = reason, Gain = gain, Sentence = sentence + "." };

    /// <summary>By how much one more worker raises the throughput at most: in proportion, and up to where the next stage is busy all the time.</summary>
    private static double Gain(long workers, double next) => Math.Min(1.0 / Math.Max(1, workers), next > 0 ? (1 - next) / next : double.MaxValue);

    private static string GainOf(long workers, double? gain) => gain is { } share
        ? $"; {(workers == 1 ? "a second worker" : "one more worker")} here gains at most {Percent(share)}"
        : "; more workers gain nothing, because as many compute as there are processors";

    private static string Percent(double share) => string.Create(CultureInfo.InvariantCulture, $"{100 * share:F0} %");

    private static string Workers(long count) => count == 1 ? "1 worker" : string.Create(CultureInfo.InvariantCulture, $"{count} workers");

    private static string Active(LiveEntry entry) => (entry.InFlight ?? 0).ToString(CultureInfo.InvariantCulture);

    // Of the time of the shares, and not of the moment, at which there may be none.
    private static string Waits(StageShares shares)
    {
        (double circuit, double permit, double rate) = (shares.Of(StageRest.Circuit), shares.Of(StageRest.Permit), shares.Of(StageRest.Rate));
        double most = Math.Max(Math.Max(circuit, permit), Math.Max(rate, shares.Of(StageRest.Retry)));
        return most == circuit ? "an open circuit" : most == permit ? "a permit of a shared limit" : most == rate ? "a rate limit" : "their next attempt";
    }
}
