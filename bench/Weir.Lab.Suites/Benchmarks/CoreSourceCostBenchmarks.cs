namespace Weir.Lab.Suites;

/// <summary>Sources whose every step costs something, with items that keep a core busy: whether reading and work overlap.</summary>
[SuiteInfo(
    25,
    "Sources that cost something",
    "Never slower than Parallel.ForEachAsync on the same source; where an item works for 20 us or more, within 1.1 of the longer of two times: that of all "
        + "steps, and the whole divided by the cores.",
    OnlyByName = true)]
public class CoreSourceCostBenchmarks : Suite
{
    private const double MicrosecondsARun = 20_000;
    private const int BatchSize = 8;

    private static readonly int Limit = Environment.ProcessorCount;
    private static readonly ParallelRunOptions Options = new() { MaxDegreeOfParallelism = Limit };

    private int? _count;
    private int[] _results = [];
    private CostlySource _source = null!;
    private Func<int, int> _work = null!;

    /// <remarks>As many as take 20 ms on one core, and so many that the first and the last do not count for much, unless it is set.</remarks>
    public override int N
    {
        get => _count ?? (int)Math.Clamp(MicrosecondsARun / (StepMicroseconds + WorkMicroseconds), Source == SourceShape.Batches ? 20 * BatchSize : 40, 20_000);
        set => _count = value;
    }

    /// <summary>
    /// What is read. Batches are of eight items, and a channel is written by a task that works as long for each item as the other sources do.
    /// </summary>
    [Params(SourceShape.Lazy, SourceShape.Async, SourceShape.Suspending, SourceShape.Batches, SourceShape.Keyed, SourceShape.Channel)]
    public SourceShape Source { get; set; }

    /// <summary>How long a step of the source and the work of an item take, in microseconds.</summary>
    [Params("0.1+0.1", "0.1+1", "1+0.1", "1+1", "0.1+20", "20+1", "20+20", "100+20", "20+100", "100+100", "100+300", "1000+1000")]
    public string Microseconds { get; set; } = "20+20";

    internal override IEnumerable<Goal> Goals => WorkMicroseconds >= 20
        ?
        [
            Goal.TimeRatio(nameof(ForEachParallel), nameof(ParallelForEachAsync), 1.0),
            Goal.TimePerRun(
                nameof(ForEachParallel), TimeSpan.FromMicroseconds(1.1 * N * Math.Max(StepMicroseconds, (StepMicroseconds + WorkMicroseconds) / Limit))),
        ]
        : [Goal.TimeRatio(nameof(ForEachParallel), nameof(ParallelForEachAsync), 1.0)];

    private double StepMicroseconds => Part(0);

    private double WorkMicroseconds => Part(1);

    /// <summary>The platform's own parallel loop. For keys too, which it does not know.</summary>
    [Benchmark(Baseline = true)]
    public async Task<int[]> ParallelForEachAsync()
    {
        ParallelOptions options = new() { MaxDegreeOfParallelism = Limit };
        switch (Source)
        {
            case SourceShape.Lazy or SourceShape.Keyed:
                await Parallel.ForEachAsync(_source.Lazy(), options, Run);
                break;
            case SourceShape.Async:
                await Parallel.ForEachAsync(_source.Async(), options, Run);
                break;
            case SourceShape.Suspending:
                await Parallel.ForEachAsync(_source.Suspending(), options, Run);
                break;
            case SourceShape.Batches:
                await Parallel.ForEachAsync(_source.Lazy().Chunk(BatchSize), options, async (batch, token) => await RunAllAsync(batch, token));
                break;
            default:
                await Parallel.ForEachAsync(_source.Channel().ReadAllAsync(), options, Run);
                break;
        }

        return _results;
    }

    /// <summary>Weir: for each item, and for batches a stream of them.</summary>
    [Benchmark]
    public async Task<int[]> ForEachParallel()
    {
        switch (Source)
        {
            case SourceShape.Lazy:
                await _source.Lazy().ForEachParallelAsync(Run, Options);
                break;
            case SourceShape.Keyed:
                await _source.Lazy().PartitionBy(static item => item & 63).ForEachParallelAsync(Run, Options);
                break;
            case SourceShape.Async:
                await _source.Async().ForEachParallelAsync(Run, Options);
                break;
            case SourceShape.Suspending:
                await _source.Suspending().ForEachParallelAsync(Run, Options);
                break;
            case SourceShape.Batches:
                await foreach (int _ in _source.Lazy().BatchParallelStreamAsync(BatchSize, RunAllAsync, Options))
                {
                }

                break;
            default:
                await _source.Channel().ForEachParallelAsync(Run, Options);
                break;
        }

        return _results;
    }

    /// <summary>EnumerableAsyncProcessor. For keys too, which it does not know.</summary>
    [Benchmark]
    public async Task<int[]> EnumerableProcessor()
    {
        await (Source switch
        {
            SourceShape.Lazy or SourceShape.Keyed => AsyncProcessor.ForEachAsync(_source.Lazy(), Limit, Run),
            SourceShape.Async => AsyncProcessor.ForEachAsync(_source.Async(), Limit, Run),
            SourceShape.Suspending => AsyncProcessor.ForEachAsync(_source.Suspending(), Limit, Run),
            SourceShape.Batches => AsyncProcessor.RunAsync(_source.Lazy().Chunk(BatchSize), Limit, RunAllAsync),
            _ => AsyncProcessor.ForEachAsync(_source.Channel().ReadAllAsync(), Limit, Run),
        });
        return _results;
    }

    private protected override void Prepare(CallCounter? counter)
    {
        int iterations = Iterations(WorkMicroseconds);
        _work = CallCounter.Around<int, int>(counter, item => CalibratedSpin.Run(item, iterations));
        _results = new int[N];
        _source = new CostlySource(N, Iterations(StepMicroseconds));
    }

    private static int Iterations(double microseconds) => (int)(SpinSpeed.PerMicrosecond * microseconds);

    private double Part(int index) => double.Parse(Microseconds.Split('+')[index], System.Globalization.CultureInfo.InvariantCulture);

    // Each item's result has an index of its own, so the arms give them alike in any order.
    private ValueTask Run(int item, CancellationToken token)
    {
        _results[item - 1] = _work(item);
        return default;
    }

    private ValueTask<int> RunAllAsync(IReadOnlyList<int> batch, CancellationToken token)
    {
        for (int i = 0; i < batch.Count; i++)
        {
            _results[batch[i] - 1] = _work(batch[i]);
        }

        return new ValueTask<int>(batch.Count);
    }
}
