namespace Weir.Tables.FewItems;

/// <summary>What the call of an item does.</summary>
internal enum FewItemsWork
{
    Nothing,
    Cpu5us,
    Cpu100us,
    Yield,
    Wait1ms,
    Block1ms,
    Block10ms,
}

/// <summary>Where the items come from.</summary>
internal enum FewItemsSource
{
    Array,

    /// <summary>An iterator.</summary>
    Lazy,

    /// <summary>An asynchronous iterator whose items are all there at once.</summary>
    Async,
}

/// <summary>A cell of the grid: a run that is made again and again.</summary>
/// <param name="Count">How many items.</param>
/// <param name="Work">What the call of an item does.</param>
/// <param name="Source">Where the items come from.</param>
/// <param name="Limit">How many may be in flight.</param>
/// <param name="OnThreads">Whether ours is a call of a <see cref="ParallelRuntime"/>, which has as many threads.</param>
internal sealed record FewItemsCell(int Count, FewItemsWork Work, FewItemsSource Source, int Limit, bool OnThreads = false)
{
    /// <summary>A run that would take longer than this is not measured.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromSeconds(2);

    // The pool of a new process has a thread for each processor, and adds few. So the limit alone does not say how many calls block at once.
    private const int FewThreads = 4;

    /// <summary>How the cell is named in <c>--filter</c>, and in the list of those that are left out.</summary>
    public string Name => Invariant($"{Count}/{NameOf(Work)}/{(OnThreads ? "threads" : Source.ToString().ToLowerInvariant())}/{Limit}");

    /// <summary>At most this ratio to <c>Parallel.ForEachAsync</c>.</summary>
    public double MostRatio => Count == 1 && Work == FewItemsWork.Nothing ? 1.2 : 1.1;

    /// <summary>Whether a run takes longer than a measurement may.</summary>
    public bool TakesTooLong => Count * Milliseconds / Math.Min(Limit, FewThreads) > Longest.TotalMilliseconds;

    private double Milliseconds => Work switch
    {
        FewItemsWork.Block1ms => 1,
        FewItemsWork.Block10ms => 10,
        _ => 0,
    };

    /// <summary>The whole grid, in the order of the page.</summary>
    public static IReadOnlyList<FewItemsCell> All { get; } =
    [
        .. from work in Enum.GetValues<FewItemsWork>()
           from count in new[] { 1, 5, 20, 200, 2_000 }
           from source in Enum.GetValues<FewItemsSource>()
           from limit in new[] { 2, 8, 64 }
           select new FewItemsCell(count, work, source, limit),
    ];

    /// <summary>Calls of a runtime with threads of its own. They have no goal: who needs such threads pays for the way to them.</summary>
    public static IReadOnlyList<FewItemsCell> Threads { get; } =
    [
        .. from work in new[] { FewItemsWork.Nothing, FewItemsWork.Cpu5us, FewItemsWork.Cpu100us, FewItemsWork.Yield, FewItemsWork.Wait1ms }
           from count in new[] { 1, 5, 20, 200 }
           select new FewItemsCell(count, work, FewItemsSource.Array, 2, OnThreads: true),
    ];

    public static string NameOf(FewItemsWork work) => work switch
    {
        FewItemsWork.Nothing => "nothing",
        FewItemsWork.Cpu5us => "5us",
        FewItemsWork.Cpu100us => "100us",
        FewItemsWork.Yield => "yield",
        FewItemsWork.Wait1ms => "wait-1ms",
        FewItemsWork.Block1ms => "block-1ms",
        _ => "block-10ms",
    };
}

/// <summary>What was measured of a cell: a time for each arm, and what follows from them, each a median over the rounds.</summary>
/// <param name="Cell">The cell.</param>
/// <param name="Theirs">What a run of <c>Parallel.ForEachAsync</c> takes, in nanoseconds.</param>
/// <param name="Ours">What a run of <c>ForEachParallelAsync</c> takes.</param>
/// <param name="Ratio">The median of the ratios within the rounds.</param>
/// <param name="TheirHops">Work items of the pool for each item.</param>
/// <param name="OurHops">The same of <c>ForEachParallelAsync</c>.</param>
internal sealed record FewItemsReading(FewItemsCell Cell, double Theirs, double Ours, double Ratio, double TheirHops, double OurHops)
{
    public bool IsMet => Ratio <= Cell.MostRatio;

    /// <summary>How far the ratio is from what it may be.</summary>
    public double Excess => Ratio / Cell.MostRatio;
}

/// <summary>The two arms of a cell, which take turns in one process.</summary>
internal sealed class FewItemsArms
{
    // Of one sample: as many runs as fill it.
    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan CellWarmUp = TimeSpan.FromMilliseconds(20);
    private const int LeastRounds = 3;

    private readonly FewItemsCell _cell;
    private readonly int[] _items;
    private readonly ParallelOptions _theirs;
    private readonly ParallelRunOptions _ours;
    private readonly Func<int, CancellationToken, ValueTask> _call;

    // Its threads are started once, by the first call, as in a program that has one.
    private static readonly ParallelRuntime Threads = new(2);

    /// <summary>Creates the arms.</summary>
    /// <param name="cell">The cell.</param>
    /// <param name="stepsPerSecond">How fast the machine computes, as <see cref="CalibratedSpin"/> measures it.</param>
    /// <param name="before">Called before the work of each item, or null.</param>
    public FewItemsArms(FewItemsCell cell, double stepsPerSecond, Action<int>? before = null)
    {
        _cell = cell;
        _items = [.. Enumerable.Range(0, cell.Count)];
        _theirs = new ParallelOptions { MaxDegreeOfParallelism = cell.Limit };
        _ours = new ParallelRunOptions { MaxDegreeOfParallelism = cell.Limit };
        Func<int, CancellationToken, ValueTask> call = CallOf(cell.Work, stepsPerSecond);
        _call = before is null ? call : (item, token) =>
        {
            before(item);
            return call(item, token);
        };
    }

    /// <summary>A run by <c>Parallel.ForEachAsync</c>.</summary>
    public Task TheirsAsync() => _cell.Source switch
    {
        FewItemsSource.Array => Parallel.ForEachAsync(_items, _theirs, _call),
        FewItemsSource.Lazy => Parallel.ForEachAsync(Lazy(_cell.Count), _theirs, _call),
        _ => Parallel.ForEachAsync(ReadyAsync(_cell.Count), _theirs, _call),
    };

    /// <summary>A run by <c>ForEachParallelAsync</c>, or a call of the runtime.</summary>
    public Task OursAsync() => _cell.OnThreads ? Threads.ProcessManyAsync(_items, ResultOf) : _cell.Source switch
    {
        FewItemsSource.Array => _items.ForEachParallelAsync(_call, _ours),
        FewItemsSource.Lazy => Lazy(_cell.Count).ForEachParallelAsync(_call, _ours),
        _ => ReadyAsync(_cell.Count).ForEachParallelAsync(_call, _ours),
    };

    // A runtime gives outcomes, so a call has a result.
    private ValueTask<int> ResultOf(int item, CancellationToken cancellationToken)
    {
        ValueTask call = _call(item, cancellationToken);
        return call.IsCompletedSuccessfully ? new ValueTask<int>(item) : Wait(call, item);

        static async ValueTask<int> Wait(ValueTask call, int item)
        {
            await call;
            return item;
        }
    }

    /// <summary>Measures both in turns.</summary>
    /// <param name="rounds">How often, at most: a cell whose runs last gets fewer.</param>
    /// <param name="budget">How long, once it has been measured often enough for a median.</param>
    /// <param name="cancellationToken">Stops it.</param>
    public async Task<FewItemsReading> MeasureAsync(int rounds, TimeSpan budget, CancellationToken cancellationToken)
    {
        int runs = await WarmUpAsync(CellWarmUp);
        long began = Stopwatch.GetTimestamp();
        List<(double Nanoseconds, double Hops)> theirs = [];
        List<(double Nanoseconds, double Hops)> ours = [];
        for (int round = 0; round < rounds && (round < LeastRounds || Stopwatch.GetElapsedTime(began) < budget); round++)
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (round % 2 == 0)
            {
                theirs.Add(await SampleAsync(TheirsAsync, runs));
                ours.Add(await SampleAsync(OursAsync, runs));
            }
            else
            {
                ours.Add(await SampleAsync(OursAsync, runs));
                theirs.Add(await SampleAsync(TheirsAsync, runs));
            }
        }

        return new FewItemsReading(
            _cell,
            TablePage.Median(theirs, static sample => sample.Nanoseconds),
            TablePage.Median(ours, static sample => sample.Nanoseconds),
            TablePage.Median(theirs.Zip(ours), static pair => pair.Second.Nanoseconds / pair.First.Nanoseconds),
            TablePage.Median(theirs, static sample => sample.Hops),
            TablePage.Median(ours, static sample => sample.Hops));
    }

    /// <summary>Runs both for a while.</summary>
    /// <returns>How many runs fill a sample.</returns>
    public async Task<int> WarmUpAsync(TimeSpan time)
    {
        long began = Stopwatch.GetTimestamp();
        int runs = 0;
        do
        {
            await TheirsAsync();
            await OursAsync();
            runs++;
        }
        while (Stopwatch.GetElapsedTime(began) < time);
        return Math.Max(1, (int)(2 * runs * (Window / Stopwatch.GetElapsedTime(began))));
    }

    private async Task<(double Nanoseconds, double Hops)> SampleAsync(Func<Task> runAsync, int runs)
    {
        long hops = ThreadPool.CompletedWorkItemCount;
        long began = Stopwatch.GetTimestamp();
        for (int run = 0; run < runs; run++)
        {
            await runAsync();
        }

        double took = Stopwatch.GetElapsedTime(began).TotalNanoseconds;
        return (took / runs, (double)(ThreadPool.CompletedWorkItemCount - hops) / ((long)runs * _cell.Count));
    }

    private static Func<int, CancellationToken, ValueTask> CallOf(FewItemsWork work, double stepsPerSecond)
    {
        switch (work)
        {
            case FewItemsWork.Nothing:
                return static (_, _) => default;
            case FewItemsWork.Cpu5us or FewItemsWork.Cpu100us:
                CalibratedSpin spin = CalibratedSpin.Of(TimeSpan.FromMicroseconds(work == FewItemsWork.Cpu5us ? 5 : 100), stepsPerSecond);
                return (item, _) =>
                {
                    spin.Run(item);
                    return default;
                };
            case FewItemsWork.Yield:
                return static async (_, _) => await Task.Yield();
            case FewItemsWork.Wait1ms:
                return static async (_, token) => await Task.Delay(1, token);
            default:
                int milliseconds = work == FewItemsWork.Block1ms ? 1 : 10;
                return (_, _) =>
                {
                    Thread.Sleep(milliseconds);
                    return default;
                };
        }
    }

    private static IEnumerable<int> Lazy(int count)
    {
        for (int item = 0; item < count; item++)
        {
            yield return item;
        }
    }

    private static async IAsyncEnumerable<int> ReadyAsync(int count)
    {
        await Task.CompletedTask;
        for (int item = 0; item < count; item++)
        {
            yield return item;
        }
    }
}
