namespace Weir.Limits;

/// <summary>The scenarios that laws are judged by.</summary>
internal static class Grid
{
    private static readonly int[] Slots = [4, 8, 16, 24, 32, 64, 200];

    public static Scenario[] All { get; } =
    [
        .. Each("steady", [Service.Fixed, Service.Exponential, Service.LogNormal, Service.Bimodal], Slots, static (service, slots) => new()
        {
            Group = "", Name = Text(service), Slots = slots, Service = service,
        }),
        .. Each("sharing", [0.5], Slots, static (loss, slots) => new() { Group = "", Name = "loses beyond its knee", Slots = slots, SharingLoss = loss }),
        .. Each("sharing, callers leave", [1.0, 3.0], [4, 8, 16, 32, 64], static (load, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"loses beyond its knee, load {load:0}"), Slots = slots, SharingLoss = 0.25, Load = load, LeavesAfter = 8,
        }),
        .. Each("tail", [0], Slots, static (_, slots) => new() { Group = "", Name = "1 % take 100 times", Slots = slots, Service = Service.Tail }),
        .. Each("pauses", [0], Slots, static (_, slots) => new() { Group = "", Name = "300 ms every 3 s", Slots = slots, Pauses = true }),
        .. Each("failures", [0.01, 0.02, 0.03, 0.05], [4, 8, 16, 24, 64], static (share, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"{100 * share:0} % fail"), Slots = slots, Failures = share,
        }),
        .. Each("slower", [2.0, 3, 5], Slots, static (times, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"{times:0} times slower and back"), Slots = slots, Service = Service.Even,
            Changes = [new(10, Slower: times), new(40, Slower: 1)], Judged = [(20, 40), (50, 60)],
        }),
        .. Each("slower, exponential", [3.0], Slots, static (times, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"{times:0} times slower and back, exponential"), Slots = slots,
            Changes = [new(10, Slower: times), new(40, Slower: 1)], Judged = [(20, 40), (50, 60)],
        }),
        .. Each("bad baseline", [0.1, 5.0], [4, 16, 64, 200], static (times, slots) => new()
        {
            Group = "", Name = times < 1 ? "first 2 s 10 times faster" : "first 2 s 5 times slower", Slots = slots,
            Changes = [new(0, Slower: times), new(2, Slower: 1)], Judged = [(12, 32)],
        }),
        .. Each("capacity", [0.25, 0.5], [32, 64, 200], static (part, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"{part} of the slots and back"), Slots = slots,
            Changes = [new(10, Slots: (int)(part * slots)), new(30, Slots: slots)], Judged = [(20, 30), (40, 50)],
        }),
        .. Each("open", [0.5, 0.8, 0.95], Slots, static (load, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"load {load}"), Slots = slots, Load = load,
        }),
        .. Each("open step", [0.95], Slots, static (load, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"load 0.3, then {load}"), Slots = slots, Load = 0.3,
            Changes = [new(10, Load: load)], Judged = [(20, 50)],
        }),
        .. Each("open, slower", [2.0, 3.0, 5.0], [4, 16, 64], static (times, slots) => new()
        {
            Group = "", Name = FormattableString.Invariant($"load 0.3, {times:0} times slower and back"), Slots = slots, Load = 0.3,
            Changes = [new(10, Slower: times), new(20, Slower: 1)], Judged = times > 3 ? [(45, 55)] : [(30, 40)],
        }),
        .. Each("refuses", [2.0], [4, 8, 16, 32, 64], static (times, slots) => new()
        {
            Group = "", Name = "refuses beyond twice its slots", Slots = slots, RefusesBeyond = times,
        }),
    ];

    private static IEnumerable<Scenario> Each<T>(string group, T[] values, int[] slots, Func<T, int, Scenario> make) =>
        values.SelectMany(_ => slots, make).Select(scenario => scenario with { Group = group });

    private static string Text(Service service) => service switch
    {
        Service.Fixed => "fixed",
        Service.Even => "even, 0.8 to 1.2",
        Service.Exponential => "exponential",
        Service.LogNormal => "log-normal",
        Service.Bimodal => "bimodal, 0.5 and 5.5",
        _ => "tail",
    };
}

/// <summary>What a law reached beside the best fixed limit: the worst of a scenario's spans.</summary>
/// <param name="Goodput">Its goodput, as a fraction of the best fixed limit's.</param>
/// <param name="Latency">Its mean latency, as a multiple of the best fixed limit's.</param>
internal readonly record struct Judgement(double Goodput, double Latency)
{
    public const double LeastGoodput = 0.9;
    public const double MostLatency = 1.5;

    /// <summary>1 for a law that reaches both, and less the farther it is from either.</summary>
    public double Score => Math.Min(1, Math.Min(Goodput / LeastGoodput, MostLatency / Latency));

    public bool IsMet => Score >= 1;
}

/// <summary>Judges laws by a scenario.</summary>
internal sealed class Judge
{
    /// <summary>Of limits with nearly the best goodput, the one with the lowest latency is the best: the rest is chance.</summary>
    private const double Nearly = 0.97;

    private readonly Scenario _scenario;
    private readonly int[] _seeds;
    private readonly (int Limit, Reached Reached)[] _best;

    public Judge(Scenario scenario, int[] seeds)
    {
        _scenario = scenario;
        _seeds = seeds;
        SortedDictionary<int, Reached[]> tried = [];
        foreach (int limit in (int[])[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 200])
        {
            Try(limit);
        }

        for (int step = 4; step >= 1; step /= 2)
        {
            foreach ((int limit, _) in BestOf(tried))
            {
                Try(limit - Math.Max(1, step * limit / 16));
                Try(limit + Math.Max(1, step * limit / 16));
            }
        }

        _best = BestOf(tried);

        void Try(int limit)
        {
            limit = Math.Clamp(limit, 1, LawKind.Max);
            if (!tried.ContainsKey(limit))
            {
                tried.Add(limit, Mean(scenario, seeds, LawKind.Fixed(limit)));
            }
        }
    }

    /// <summary>The best fixed limit of each span.</summary>
    public IEnumerable<int> BestLimits => _best.Select(static best => best.Limit);

    /// <summary>What the best fixed limit of each span reached.</summary>
    public IEnumerable<Reached> Best => _best.Select(static best => best.Reached);

    /// <summary>Judges a law by the mean over the seeds.</summary>
    public Judgement Of(LawKind law)
    {
        Judgement worst = new(double.PositiveInfinity, 0);
        foreach ((Reached reached, (_, Reached best)) in Mean(_scenario, _seeds, law).Zip(_best))
        {
            worst = new(Math.Min(worst.Goodput, reached.Goodput / best.Goodput), Math.Max(worst.Latency, reached.Latency / best.Latency));
        }

        return worst;
    }

    /// <summary>What a law reached in each span. Where calls come by themselves, what was left over from before the span does not count.</summary>
    public static Reached[] Mean(Scenario scenario, int[] seeds, LawKind law)
    {
        Reached[][] runs = [.. seeds.Select(seed => Simulation.Run(scenario, law.Create(seed), seed))];
        return [.. scenario.Judged.Select((span, i) => new Reached(
            Math.Min(scenario.OfferedAt(span.From), runs.Average(run => run[i].Goodput)), runs.Average(run => run[i].Latency), runs.Average(run => run[i].Limit)))];
    }

    private (int Limit, Reached Reached)[] BestOf(SortedDictionary<int, Reached[]> tried) =>
        [.. Enumerable.Range(0, _scenario.Judged.Length).Select(i =>
        {
            double most = tried.Max(entry => entry.Value[i].Goodput);
            KeyValuePair<int, Reached[]> best = tried.Where(entry => entry.Value[i].Goodput >= Nearly * most).MinBy(entry => entry.Value[i].Latency);
            return (best.Key, best.Value[i]);
        })];
}
