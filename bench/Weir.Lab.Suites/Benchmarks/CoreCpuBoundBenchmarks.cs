namespace Weir.Lab.Suites;

/// <summary>Items that keep a core busy, on all cores: how well the work is distributed.</summary>
[SuiteInfo(20, "CPU-bound items, one worker a core", "Never slower than Parallel.For.")]
public class CoreCpuBoundBenchmarks : ItemSuite
{
    private int[] _items = [];

    public override int N { get; set; } = 5_000;

    /// <summary>How much work an item is.</summary>
    [Params(Grain.OneMicrosecond, Grain.TenMicroseconds, Grain.HeavyTail)]
    public Grain Work { get; set; }

    internal override IEnumerable<Goal> Goals => [Goal.TimeRatio(nameof(SelectParallel), nameof(ParallelFor), 1.0)];

    private protected override int Limit => Environment.ProcessorCount;

    /// <summary>The platform's parallel loop for work that never waits.</summary>
    [Benchmark(Baseline = true)]
    public int[] ParallelFor() => Peers.ParallelFor.Run(_items, Limit, Call);

    /// <summary>Weir.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel() => _items.SelectParallelAsync(Call, Options);

    /// <summary>The platform's parallel loop for work that may wait.</summary>
    [Benchmark]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(_items, N, Limit, Call);

    /// <summary>A bounded channel and a fixed number of workers.</summary>
    [Benchmark]
    public Task<int[]> ChannelAndWorkers() => ChannelWorkers.RunAsync(_items, N, Limit, Call);

    /// <summary>EnumerableAsyncProcessor.</summary>
    [Benchmark]
    public Task<int[]> EnumerableProcessor() => AsyncProcessor.RunAsync(_items, Limit, Call);

    /// <summary>One core only.</summary>
    [Benchmark]
    public Task<List<int>> AwaitLoop() => Lab.Catalog.AwaitLoop.RunAsync(_items, N, Call);

    private protected override ItemCall MakeCall()
    {
        int[] iterations = Iterations();
        return ItemCalls.Spinning(item => iterations[item - 1]);
    }

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _items = [.. Sources.Of(SourceKind.Array, N)];
    }

    private int[] Iterations()
    {
        int[] iterations = new int[N];
        Array.Fill(iterations, SpinSpeed.PerMicrosecond * (Work == Grain.OneMicrosecond ? 1 : 10));
        if (Work == Grain.HeavyTail)
        {
            // The same positions in each process, but not evenly spread: the long items meet at random.
            int[] positions = [.. Enumerable.Range(0, N)];
            new Random(20_250).Shuffle(positions);
            foreach (int position in positions.Take((N + 99) / 100))
            {
                iterations[position] *= 100;
            }
        }

        return iterations;
    }
}
