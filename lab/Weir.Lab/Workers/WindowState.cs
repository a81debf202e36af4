namespace Weir.Lab.Workers;

/// <summary>What the workers of a window share.</summary>
internal sealed class WindowState(int workers, InFlightMeter inFlight, TimeProvider? clock = null) : IDisposable
{
    private readonly CancellationTokenSource _stopping = new();
    private readonly ManualResetEventSlim _allReady = new();
    private readonly ManualResetEventSlim _start = new();
    private readonly ManualResetEventSlim _allRun = new();
    private readonly ManualResetEventSlim _allMeasure = new();
    private readonly ManualResetEventSlim _allLeft = new();
    private readonly ManualResetEventSlim _allEnded = new();
    private readonly TimeProvider _clock = clock ?? TimeProvider.System;
    private int _waiting = workers;
    private int _starting = workers;
    private int _toMeasure = workers;
    private int _measuring = workers;
    private int _living = workers;
    private int _unfinished = workers;
    private long _left;

    // Read by all workers between operations and written three times: all others stay away from its cache line.
    private PaddedPhase _phase;

    public int Workers { get; } = workers;

    /// <summary>How many operations are left that all workers do together.</summary>
    public long Left { init => _left = value; }

    /// <summary>Whether the first operation that fails ends the window.</summary>
    public bool FailsFast { get; init; }

    /// <summary>Whether threads of workers wait for its end once they have done a batch.</summary>
    public bool IsPractice { get; init; }

    /// <summary>What the workload counts itself.</summary>
    public InFlightMeter InFlight => inFlight;

    public CancellationToken Stopping => _stopping.Token;

    public WindowPhase Phase
    {
        get => (WindowPhase)Volatile.Read(ref _phase.Value);
        set => Volatile.Write(ref _phase.Value, (int)value);
    }

    /// <summary>When what the workers do began to count.</summary>
    public long Begin { get; private set; }

    /// <summary>When it ceased to count.</summary>
    public long End { get; private set; }

    /// <summary>The time now, in units of <see cref="System.Diagnostics.Stopwatch.GetTimestamp"/>.</summary>
    public long Now() => _clock.GetTimestamp();

    /// <summary>The time between two such, whatever units the clock has.</summary>
    public TimeSpan Between(long from, long to) => _clock.GetElapsedTime(from, to);

    /// <summary>Takes one of the operations that all workers do together, if there is one left.</summary>
    public bool TryTake() => Interlocked.Decrement(ref _left) >= 0;

    /// <summary>From here on it counts what the workers do.</summary>
    public void BeginMeasuring()
    {
        Begin = Now();
        Phase = WindowPhase.Measure;
    }

    /// <summary>It counts no more; the workers go on until each has ended what was under way.</summary>
    public void EndMeasuring()
    {
        End = Now();
        Phase = WindowPhase.Leave;
    }

    /// <summary>A thread is there, and waits until all start at once.</summary>
    public void WaitForStart()
    {
        Count(ref _waiting, _allReady);
        _start.Wait();
    }

    /// <summary>A worker has no thread that could wait.</summary>
    public void SignalReady() => Count(ref _waiting, _allReady);

    /// <summary>Waits until the workers are told to end. Whether they are.</summary>
    public bool WaitUntilStopped(TimeSpan limit) => Stopping.WaitHandle.WaitOne(limit);

    /// <summary>How many workers have not ended.</summary>
    public int Living => Volatile.Read(ref _living);

    public void WaitUntilAllReady() => _allReady.Wait();

    public void Start() => _start.Set();

    public void SignalRunning() => Count(ref _starting, _allRun);

    public void SignalMeasuring() => Count(ref _toMeasure, _allMeasure);

    public void SignalLeft() => Count(ref _measuring, _allLeft);

    public void SignalEnded() => Count(ref _living, _allEnded);

    /// <summary>A worker has ended what it was told to do. If it is called again, it only helps.</summary>
    public void SignalFinished() => Interlocked.Decrement(ref _unfinished);

    /// <summary>Whether a worker has not ended what it was told to do.</summary>
    public bool HasUnfinished => Volatile.Read(ref _unfinished) > 0;

    /// <summary>A worker that has ended begins again, unless all have ended. Whether it does.</summary>
    public bool TryRejoin()
    {
        int living = Volatile.Read(ref _living);
        while (living > 0)
        {
            int before = Interlocked.CompareExchange(ref _living, living + 1, living);
            if (before == living)
            {
                return true;
            }

            living = before;
        }

        return false;
    }

    /// <summary>Waits until all are so far, or until the run is stopped. Whether they are.</summary>
    public static bool Wait(ManualResetEventSlim all, TimeSpan limit, CancellationToken stop)
    {
        try
        {
            return all.Wait(limit, stop);
        }
        catch (OperationCanceledException)
        {
            return all.IsSet;
        }
    }

    public bool WaitUntilAllRun(TimeSpan limit, CancellationToken stop) => Wait(_allRun, limit, stop);

    public bool WaitUntilAllMeasure(TimeSpan limit, CancellationToken stop) => Wait(_allMeasure, limit, stop);

    public bool WaitUntilAllLeft(TimeSpan limit, CancellationToken stop) => Wait(_allLeft, limit, stop);

    public bool WaitUntilAllEnded(TimeSpan limit, CancellationToken stop = default) => Wait(_allEnded, limit, stop);

    public void Stop()
    {
        Phase = WindowPhase.Stop;
        _stopping.Cancel();
    }

    public void Dispose()
    {
        // Only when all have ended; otherwise the stragglers still use these.
        if (_allEnded.IsSet)
        {
            _stopping.Dispose();
            _allReady.Dispose();
            _start.Dispose();
            _allRun.Dispose();
            _allMeasure.Dispose();
            _allLeft.Dispose();
            _allEnded.Dispose();
        }
    }

    private static void Count(ref int left, ManualResetEventSlim whenZero)
    {
        if (Interlocked.Decrement(ref left) == 0)
        {
            whenZero.Set();
        }
    }

    [System.Runtime.InteropServices.StructLayout(System.Runtime.InteropServices.LayoutKind.Explicit, Size = 256 + sizeof(int))]
    private struct PaddedPhase
    {
        [System.Runtime.InteropServices.FieldOffset(128)]
        public int Value;
    }
}
