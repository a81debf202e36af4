using Weir.Lab.Suites.Peers;

namespace Weir.Tables.Startup;

/// <summary>All arms, in the order of the page; of each work the baseline first.</summary>
internal static class WarmUpArms
{
    private const string Loop = "plain loop";
    private const string Plain = "no policy";
    private const int Limit = 8;

    private static readonly ParallelRunOptions Options = new() { MaxDegreeOfParallelism = Limit };

    public static IReadOnlyList<WarmUpArm> All { get; } =
    [
        .. Lists("list of 100,000", 100_000, mostRatio: 1),
        .. Lists("list of 1,000", 1_000, mostRatio: null),
        .. Streams("stream of 10,000", 10_000),
        .. Policies("policies, list of 10,000", 10_000),
    ];

    private static IEnumerable<WarmUpArm> Lists(string work, int items, double? mostRatio)
    {
        ItemCall call = ItemCalls.Light;
        yield return new(work, Loop, items, () => Summed(items, source => AwaitLoop.RunAsync(source, items, call)));
        yield return new(work, "SelectParallelAsync", items, () => Summed(items, source => source.SelectParallelAsync(call, Options)))
        {
            Baseline = Loop, MostRatio = mostRatio,
        };
        yield return new(
            work, "Parallel.ForEachAsync", items, () => Summed(items, source => ForEachAsync.RunAsync(source, items, Limit, call))) { Baseline = Loop };
    }

    private static IEnumerable<WarmUpArm> Streams(string work, int items)
    {
        ItemCall call = ItemCalls.Light;
        yield return new(work, Loop, items, () => Drained(items, source => AwaitLoop.Stream(source, call)));
        yield return new(work, "SelectParallelStreamAsync", items, () => Drained(items, source => source.SelectParallelStreamAsync(call, Options)))
        {
            Baseline = Loop, MostPerItem = 60,
        };
        yield return new(work, "SelectParallelStreamAsync, ordered", items, () =>
            Drained(items, source => source.SelectParallelStreamAsync(call, Options with { OrderedOutput = true }))) { Baseline = Loop, MostPerItem = 60 };
    }

    private static IEnumerable<WarmUpArm> Policies(string work, int items)
    {
        yield return Policy(work, Plain, items, static options => options) with { Baseline = null, MostAdded = null };
        yield return Policy(work, "circuit breaker", items, Features.CircuitBreaker);
        yield return Policy(work, "rate limit", items, Features.RateLimit);
        yield return Policy(work, "progress", items, Features.Progress);
        yield return Policy(work, "metrics", items, Features.Metrics);
        yield return Policy(work, "adaptive limit", items, Features.Adaptive);
    }

    private static WarmUpArm Policy(string work, string name, int items, Func<ParallelRunOptions, ParallelRunOptions> with)
    {
        ItemCall call = ItemCalls.Light;
        return new(work, name, items, () =>
        {
            ParallelRunOptions options = with(Options);
            return Summed(items, source => source.SelectParallelAsync(call, options));
        }) { Baseline = Plain, MostAdded = 25 };
    }

    private static Func<Task<long>> Summed<TList>(int items, Func<IEnumerable<int>, Task<TList>> run)
        where TList : IList<int>
    {
        IEnumerable<int> source = Sources.Of(SourceKind.Array, items);
        return async () =>
        {
            TList results = await run(source);
            long sum = 0;
            for (int i = 0; i < results.Count; i++)
            {
                sum += results[i];
            }

            return sum;
        };
    }

    private static Func<Task<long>> Drained(int items, Func<IEnumerable<int>, IAsyncEnumerable<int>> stream)
    {
        IEnumerable<int> source = Sources.Of(SourceKind.Array, items);
        return async () =>
        {
            long sum = 0;
            await foreach (int result in stream(source))
            {
                sum += result;
            }

            return sum;
        };
    }
}
