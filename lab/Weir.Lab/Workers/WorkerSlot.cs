using System.Collections.Concurrent;

namespace Weir.Lab.Workers;

/// <summary>One worker of a window: tells it what to do next, and keeps its counts.</summary>
internal sealed class WorkerSlot(WindowState window, WorkerContext context, int batch, LatencyRecorder? recorder, Pacer? pacer, WholeOperations? whole)
{
    // A batch is made to last about a tenth of this: longer, and one of its calls that was not timed must have stalled.
    private static readonly long Stalled = Clock.Ticks(TimeSpan.FromMicroseconds(100));

    // Long enough to cost nothing, short enough that loops which never suspend take turns on few threads.
    private static readonly long YieldAfter = Clock.Ticks(TimeSpan.FromMilliseconds(2));

    // Of practice: short for a call that needs this one, long for the compiler.
    private static readonly TimeSpan Rest = TimeSpan.FromMilliseconds(1);

    private const int GroupsInTime = 128;

    // Immutable.
    private readonly LatencyRecorder _recorder = recorder.GetValueOrDefault();
    private readonly bool _isAlone = whole is not null && window.Workers == 1;

    // Of the worker's loop. The window's thread reads what was counted: while the loop runs as a hint, exactly once it has ended.
    private WorkerTally _tally;
    private SoloReading _before;
    private TimeSpan _elapsed;
    private int _group = 1;
    private bool _isFinished;

    // A loop that has ended sets the first one last. Only then the window's thread may call the worker again (MayHelp): it clears the first, sets the second,
    // and starts a new loop, to which all fields of the loop pass by that.
    private volatile bool _hasEnded;
    private bool _helps;

    public WorkerContext Context { get; } = context;

    /// <summary>How many operations go between two looks at the clock; of each such batch one is timed.</summary>
    public int Batch { get; } = batch;

    public bool Time { get; } = recorder.HasValue;

    public bool IsPaced { get; } = pacer is not null;

    public Exception? FirstError { get; private set; }

    /// <summary>How many operations failed, by the type of what they threw; <see langword="null"/> if none did.</summary>
    public Dictionary<string, long>? FailureKinds { get; private set; }

    /// <summary>Whether it did all whole operations that it was to do.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>What it read itself, if it was alone.</summary>
    public SoloUse? Solo { get; private set; }

    public ref readonly WorkerTally Tally => ref _tally;

    public long Mark => _tally.Mark;

    /// <summary>Whether an asynchronous loop has to give up its thread for a moment.</summary>
    /// <remarks>
    /// In whole operations each does so once, before it begins: what its loop needs to suspend is there then. With few operations it would count for much.
    /// </remarks>
    public bool MustYield => whole is not null
        ? !_tally.IsMeasuring
        : !IsPaced && (window.Phase == WindowPhase.Ramp || _tally.Mark - _tally.Yielded > YieldAfter);

    public void HasYielded() => _tally.Yielded = _tally.Mark = window.Now();

    /// <summary>How many operations to do next; 0 to end.</summary>
    public int Next()
    {
        WindowPhase phase = window.Phase;
        if (phase == WindowPhase.Measure)
        {
            if (!_tally.IsMeasuring)
            {
                BeginMeasuring();
            }

            return whole is null ? Batch : NextOfWhole(whole);
        }

        return NextOutside(phase);
    }

    /// <summary>As <see cref="Next"/>, of a worker that has a thread of its own, which may wait.</summary>
    public int NextOfThread()
    {
        if (!window.IsPractice || !(_tally.IsMeasuring || _tally.HasLeft))
        {
            return Next();
        }

        if (!_tally.HasLeft)
        {
            Leave();
        }

        return window.WaitUntilStopped(Rest) ? Next() : Batch;
    }

    /// <summary>Waits for the next start that is due, with the thread. 1, or 0 to end.</summary>
    public int NextStart()
    {
        ReportRunning();
        pacer!.Starts.Wait();
        return Take();
    }

    /// <summary>
    /// Ends when the next start is due, which <see cref="Take"/> then takes. The loop awaits it itself: a method between them would allocate for each start.
    /// </summary>
    public Task StartIsDueAsync()
    {
        ReportRunning();
        long before = GC.GetAllocatedBytesForCurrentThread();
        Task due = pacer!.Starts.WaitAsync();
        _tally.OwnBytes += GC.GetAllocatedBytesForCurrentThread() - before;
        return due;
    }

    /// <summary>Takes the start that is due. 1, or 0 to end.</summary>
    public int Take()
    {
        if (!pacer!.TryTake(out PacedStart start))
        {
            return 0;
        }

        _tally.Mark = window.Now();
        _tally.Intended = start.Intended;
        if (start.Counts && !_tally.IsMeasuring)
        {
            _tally.Start = _tally.LastEnd = pacer.CountsFrom;
        }

        _tally.IsMeasuring = start.Counts;
        if (start.Counts)
        {
            pacer.Started(_tally.Mark - start.Intended);
        }

        return 1;
    }

    /// <summary>Operations are done that were not timed.</summary>
    public void Done(int count) => Done(count, 0, Stopwatch.GetTimestamp());

    /// <summary>Operations are done.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Done(int count, long before, long after)
    {
        _tally.Executed += count;
        if (_tally.IsMeasuring)
        {
            _tally.Operations += count;
            long gap = after - _tally.LastEnd;
            if (gap > _tally.LongestGap)
            {
                _tally.LongestGap = gap;
            }

            if (gap < _tally.ShortestGap || _tally.ShortestGap == 0)
            {
                _tally.ShortestGap = gap;
            }

            _tally.LastStart = _tally.Mark;
            _tally.LastEnd = after;
            if (Time)
            {
                _recorder.Record(Clock.Nanoseconds(before, after), _tally.Intended, after);
                if (count > 1)
                {
                    RecordBatch(count, after - _tally.Mark);
                }
            }
        }

        _tally.Mark = after;
        if (IsPaced)
        {
            pacer!.Ended(_tally.IsMeasuring);
        }
    }

    /// <summary>An operation threw.</summary>
    /// <param name="error">What it threw.</param>
    /// <param name="before">How many operations of the same batch were completed before.</param>
    /// <returns>Whether the worker continues.</returns>
    public bool Failed(Exception error, int before)
    {
        _tally.Executed += before;
        _tally.Operations += _tally.IsMeasuring ? before : 0;
        if (IsPaced)
        {
            pacer!.Ended(_tally.IsMeasuring);
        }

        if (error is OperationCanceledException && window.Stopping.IsCancellationRequested)
        {
            return false;
        }

        FirstError ??= error;
        FailureKinds ??= [];
        FailureKinds[error.GetType().Name] = FailureKinds.GetValueOrDefault(error.GetType().Name) + 1;
        _tally.Failures++;
        if (window.FailsFast)
        {
            window.Stop();
            return false;
        }

        _tally.Mark = window.Now();
        return window.Phase != WindowPhase.Stop;
    }

    /// <summary>The loop has ended, for whatever reason: nothing may wait for this worker any longer.</summary>
    public void HasEnded()
    {
        ReadLast();
        ReportRunning();
        if (!_tally.HasLeft)
        {
            Leave();
        }

        if (!_isFinished)
        {
            _isFinished = true;
            window.SignalFinished();
        }

        _hasEnded = true;
        window.SignalEnded();
    }

    /// <summary>Whether the loop has ended, and may be called again for operations that others need to end.</summary>
    public bool MayHelp()
    {
        if (!_hasEnded || !window.TryRejoin())
        {
            return false;
        }

        _hasEnded = false;
        _helps = true;
        return true;
    }

    private void RecordBatch(int count, long ticks)
    {
        long nanoseconds = Clock.Nanoseconds(0, ticks);
        if (count == Batch)
        {
            _recorder.RecordBatch(nanoseconds);
        }

        if (ticks > Stalled)
        {
            _recorder.NoteMax(nanoseconds);
        }
    }

    // All begin at once and do theirs, however long that takes: the last ones may run alone.
    private int NextOfWhole(WholeOperations operations)
    {
        int count = operations.Together is not null ? (window.TryTake() ? 1 : 0)
            : operations.Each is { } most ? (int)Math.Min(Batch, most - _tally.Operations - _tally.Failures)
            : NextWithin(operations.Until.GetValueOrDefault());
        if (count == 0)
        {
            IsComplete = true;
            ReadLast();
        }

        return count;
    }

    // The clock is read once for a group of operations: tiny ones go in groups that are much shorter than the window.
    private int NextWithin(TimeSpan time)
    {
        if (_tally.Executed + _tally.Failures == 0)
        {
            return _group;
        }

        TimeSpan now = window.Between(_tally.Start, window.Now());
        if (now >= time)
        {
            return 0;
        }

        _group = (now - _elapsed) * GroupsInTime < time ? _group * 2 : _group;
        _elapsed = now;
        return _group;
    }

    private void ReadLast()
    {
        if (_isAlone && _tally.IsMeasuring && Solo is null)
        {
            Solo = SoloUse.Between(window, _before, SoloReading.After(window));
        }
    }

    private int NextOutside(WindowPhase phase)
    {
        if (phase == WindowPhase.Ramp)
        {
            return NextOfRamp();
        }

        ReportRunning();
        if (phase == WindowPhase.Stop)
        {
            if (whole is not null && _tally.IsMeasuring)
            {
                // Stopped right after its last one, it is complete all the same.
                _ = NextOfWhole(whole);
            }

            // One at least, and then as many as the others need to end their batches.
            bool more = _helps || (_isFinished && window.HasUnfinished);
            _helps = false;
            return more ? 1 : 0;
        }

        if (!_tally.HasLeft)
        {
            Leave();
        }

        return Batch;
    }

    private int NextOfRamp()
    {
        // Workers that have just begun are in step; once each has ended an operation they are where a run of any length would find them.
        if (_tally.Executed + _tally.Failures > 0)
        {
            ReportRunning();
        }

        _tally.FirstDone = _tally.Executed;
        _tally.FirstStart = _tally.Mark = window.Now();
        return Batch;
    }

    private void ReportRunning()
    {
        if (!_tally.IsRunning)
        {
            _tally.IsRunning = true;
            window.SignalRunning();
        }
    }

    private void BeginMeasuring()
    {
        ReportRunning();
        _tally.IsMeasuring = true;
        _tally.FirstDone = _tally.Executed - _tally.FirstDone;
        window.SignalMeasuring();
        _before = _isAlone ? SoloReading.Before(window) : default;
        _tally.Start = _tally.Mark = _tally.LastStart = _tally.LastEnd = _tally.Yielded = _isAlone ? _before.Timestamp : window.Now();
    }

    private void Leave()
    {
        _tally.HasLeft = true;
        _tally.IsMeasuring = false;
        window.SignalLeft();
    }
}

/// <summary>What a worker writes all the time, 128 bytes away from anything that another writes.</summary>
[StructLayout(LayoutKind.Explicit, Size = 128 + 120 + 128)]
internal struct WorkerTally
{
    /// <summary>Operations completed within the measured window.</summary>
    [FieldOffset(128)]
    public long Operations;

    /// <summary>Operations completed at any time.</summary>
    [FieldOffset(136)]
    public long Executed;

    /// <summary>Operations that threw.</summary>
    [FieldOffset(144)]
    public long Failures;

    /// <summary>When its operations began to count, which is when the one that was under way at the window's beginning ended.</summary>
    [FieldOffset(152)]
    public long Start;

    /// <summary>When the operations began that were under way at the window's beginning.</summary>
    [FieldOffset(160)]
    public long FirstStart;

    /// <summary>When the last operation ended, or the next one began.</summary>
    [FieldOffset(168)]
    public long Mark;

    /// <summary>The longest time between two ends, in clock units.</summary>
    [FieldOffset(176)]
    public long LongestGap;

    /// <summary>When the worker last gave up its thread of its own accord.</summary>
    [FieldOffset(184)]
    public long Yielded;

    /// <summary>When the current operation should have started.</summary>
    [FieldOffset(192)]
    public long Intended;

    /// <summary>When the last counted operation ended.</summary>
    [FieldOffset(200)]
    public long LastEnd;

    /// <summary>How many operations were under way at the window's beginning and completed; until then, how many had been completed before them.</summary>
    [FieldOffset(208)]
    public long FirstDone;

    /// <summary>When the last counted operations began.</summary>
    [FieldOffset(216)]
    public long LastStart;

    /// <summary>Bytes that waiting for starts allocated.</summary>
    [FieldOffset(224)]
    public long OwnBytes;

    /// <summary>Whether the worker has said that it runs.</summary>
    [FieldOffset(232)]
    public bool IsRunning;

    /// <summary>Whether the operations count.</summary>
    [FieldOffset(233)]
    public bool IsMeasuring;

    /// <summary>Whether its part of the window is over.</summary>
    [FieldOffset(234)]
    public bool HasLeft;

    /// <summary>The shortest time between two ends, in clock units; 0 before the first.</summary>
    [FieldOffset(240)]
    public long ShortestGap;
}

/// <summary>What the workers of a window share.</summary>
internal sealed class WindowState(int workers, InFlightMeter inFlight, TimeProvider? clock = null) : IDisposable
{
    // Immutable.
    private readonly TimeProvider _clock = clock ?? TimeProvider.System;

    // What one waits for. The window's thread sets the start; each other event is set by the worker that brings its count to zero.
    private readonly CancellationTokenSource _stopping = new();
    private readonly ManualResetEventSlim _start = new();
    private readonly ManualResetEventSlim _allReady = new();
    private readonly ManualResetEventSlim _allRun = new();
    private readonly ManualResetEventSlim _allMeasure = new();
    private readonly ManualResetEventSlim _allLeft = new();
    private readonly ManualResetEventSlim _allEnded = new();

    // Atomic: how many workers have not come so far. Each worker lowers each of them once.
    private int _waiting = workers;
    private int _starting = workers;
    private int _toMeasure = workers;
    private int _measuring = workers;
    private int _unfinished = workers;

    // Atomic: how many loops have not ended. A worker that is called again raises it, but never from zero: the window is over then.
    private int _living = workers;

    // Atomic: how many operations are left that all do together. It falls below zero, once for each worker that finds none.
    private long _left;

    // Atomic: the window's thread moves it forward, and whoever stops the window sets it to the end. It is read by all workers between operations and written
    // three times: all others stay away from its cache line.
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

    /// <summary>It counts no more; the workers continue until each has ended what was under way.</summary>
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

/// <summary>Where a window is. Workers look at it between operations.</summary>
internal enum WindowPhase
{
    /// <summary>Workers start; nothing counts until each has ended an operation.</summary>
    Ramp,

    /// <summary>All workers run and count.</summary>
    Measure,

    /// <summary>Each worker ends the operation that was under way, and keeps up the load until all have.</summary>
    Leave,

    /// <summary>Workers end.</summary>
    Stop,
}

/// <summary>
/// What a worker that is alone in a window of whole operations reads itself, right before its first operation and right after its last. So nothing of the lab
/// lies between: not its threads, its start barrier or its loops, which are there before and go after. The time is the innermost, and the bytes are exact.
/// </summary>
internal readonly record struct SoloReading(ResourceUse Sample, long CompiledMethods, long Bytes, TimeSpan Cpu, long Timestamp)
{
    public static SoloReading Before(WindowState window)
    {
        ResourceUse sample = ResourceUse.Take();
        long compiled = System.Runtime.JitInfo.GetCompiledMethodCount();
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        return new SoloReading(sample, compiled, bytes, cpu, window.Now());
    }

    public static SoloReading After(WindowState window)
    {
        long timestamp = window.Now();
        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        long compiled = System.Runtime.JitInfo.GetCompiledMethodCount();
        return new SoloReading(ResourceUse.Take(), compiled, bytes, cpu, timestamp);
    }
}

/// <summary>What lies between the two readings of a worker that is alone.</summary>
/// <param name="Elapsed">How long its operations took.</param>
/// <param name="Cpu">How much processor time the process used.</param>
/// <param name="Resources">What else it used. The allocations and the compiled methods are those of the operations, exactly.</param>
internal sealed record SoloUse(TimeSpan Elapsed, TimeSpan Cpu, ResourceUse Resources)
{
    public static SoloUse Between(WindowState window, in SoloReading before, in SoloReading after) => new(
        window.Between(before.Timestamp, after.Timestamp),
        after.Cpu - before.Cpu,
        (after.Sample - before.Sample) with
        {
            AllocatedBytes = after.Bytes - before.Bytes, CompiledMethods = after.CompiledMethods - before.CompiledMethods,
        });
}

/// <summary>The histograms that a worker records in: its own, or, where there are very many workers, some that it shares with some of them.</summary>
/// <param name="service">How long operations take.</param>
/// <param name="response">With a rate, how long after they should have begun they end.</param>
/// <param name="batches">How long whole batches take; <see langword="null"/> where each operation is timed.</param>
/// <param name="isShared">Whether other workers record in them too.</param>
internal readonly struct LatencyRecorder(LatencyHistogram service, LatencyHistogram? response, LatencyHistogram? batches, bool isShared)
{
    /// <summary>A batch took so long, in which one call was timed that took less.</summary>
    public void NoteMax(long nanoseconds) => service.NoteMax(nanoseconds);

    /// <summary>A whole batch of operations took so long together.</summary>
    public void RecordBatch(long nanoseconds)
    {
        if (isShared)
        {
            batches?.RecordShared(nanoseconds);
            return;
        }

        batches?.Record(nanoseconds);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Record(long serviceNanoseconds, long intended, long after)
    {
        if (isShared)
        {
            service.RecordShared(serviceNanoseconds);
            response?.RecordShared(Clock.Nanoseconds(intended, after));
            return;
        }

        service.Record(serviceNanoseconds);
        response?.Record(Clock.Nanoseconds(intended, after));
    }
}

/// <summary>Makes starts due at a steady rate, on a thread of its own.</summary>
/// <remarks>
/// The platform's timers go in steps of milliseconds and then fall behind for good. This thread sleeps with the system's own call and, when it
/// wakes, makes all starts due whose time has come, so that the rate holds whatever a single sleep does. What a start waits for a free worker counts as
/// latency: that is the point. A start is dropped only when too many have not ended, never because no worker waits.
/// </remarks>
internal sealed partial class Pacer : IDisposable
{
    private const int SetTimerSlack = 29;
    private static readonly TimeSpan LongestSleep = TimeSpan.FromMilliseconds(5);

    // Later than this is late: it is beyond what a sleep is off.
    private static readonly long Late = Clock.Ticks(TimeSpan.FromMilliseconds(1));

    private readonly ConcurrentQueue<PacedStart> _due = new();
    private readonly double _interval;
    private readonly int? _limit;
    private readonly ManualResetEventSlim _allEnded = new();
    private readonly Thread _thread;
    private long _from;
    private long _firstCounted;
    private long _counted;
    private long _countedEnded;
    private long _emitted;
    private long _ended;
    private long _late;
    private long _dropped;
    private volatile bool _stop;

    public Pacer(double ratePerSecond, int? maxInFlight)
    {
        _interval = Stopwatch.Frequency / ratePerSecond;
        _limit = maxInFlight;
        _thread = new Thread(Emit) { IsBackground = true, Name = "Weir lab pacer", Priority = ThreadPriority.AboveNormal };
    }

    public SemaphoreSlim Starts { get; } = new(0);

    public InFlightMeter InFlight { get; } = new();

    /// <summary>How late starts became due. It is the generator's own error.</summary>
    public LatencyHistogram Lateness { get; } = new();

    /// <summary>Bytes that its thread has allocated; known when it has stopped.</summary>
    public long OwnBytes { get; private set; }

    /// <summary>When the first counted start is due.</summary>
    public long CountsFrom { get; private set; }

    /// <summary>How many starts were due within the window.</summary>
    public long Counted => _counted;

    /// <summary>How many starts of the window were dropped.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    /// <summary>How many operations of the window began more than a millisecond after they were due.</summary>
    public long LateStarts => Volatile.Read(ref _late);

    /// <summary>How many operations of the window have not ended.</summary>
    public long Unfinished => _counted - Dropped - Volatile.Read(ref _countedEnded);

    /// <summary>Begins to make starts due, of which those of a window after the ramp count.</summary>
    public void Start(TimeSpan ramp, TimeSpan duration)
    {
        _firstCounted = (long)(Clock.Ticks(ramp) / _interval);
        _counted = Math.Max(1, (long)(Clock.Ticks(duration) / _interval));
        _from = Stopwatch.GetTimestamp();
        CountsFrom = DueAt(_firstCounted);
        _thread.Start();
    }

    public bool TryTake(out PacedStart start)
    {
        if (!_stop && _due.TryDequeue(out start))
        {
            InFlight.Enter();
            return true;
        }

        start = default;
        return false;
    }

    public void Started(long late)
    {
        if (late > Late)
        {
            Interlocked.Increment(ref _late);
        }
    }

    public void Ended(bool counts)
    {
        InFlight.Exit();
        Interlocked.Increment(ref _ended);
        if (counts)
        {
            Interlocked.Increment(ref _countedEnded);
            SignalIfAllEnded();
        }
    }

    public bool WaitUntilAllEnded(TimeSpan limit, CancellationToken stop) => WindowState.Wait(_allEnded, limit, stop);

    /// <summary>Ends the pacing, and wakes the workers that wait for a start.</summary>
    public void Stop(int workers)
    {
        _stop = true;
        if (_thread.ThreadState.HasFlag(System.Threading.ThreadState.Unstarted))
        {
            _thread.Start();
        }

        _thread.Join();
        Starts.Release(workers);
    }

    public void Dispose()
    {
        // A worker that did not end still uses what it waits with.
        if (Unfinished <= 0 && InFlight.Depth == 0)
        {
            Starts.Dispose();
            _allEnded.Dispose();
        }
    }

    private long DueAt(long index) => _from + (long)(index * _interval);

    private void Emit()
    {
        TightenSleep();
        for (long next = 0; !_stop;)
        {
            long now = Stopwatch.GetTimestamp();
            int released = 0;
            for (long due; (due = DueAt(next)) <= now; next++)
            {
                released += TryEmit(next, due, now) ? 1 : 0;
            }

            if (released > 0)
            {
                Starts.Release(released);
            }

            TimeSpan left = Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), DueAt(next));
            PreciseSleep.For(left < LongestSleep ? left : LongestSleep);
        }

        OwnBytes = GC.GetAllocatedBytesForCurrentThread();
    }

    private bool TryEmit(long index, long due, long now)
    {
        bool counts = index >= _firstCounted && index < _firstCounted + _counted;
        if (counts)
        {
            Lateness.Record(Clock.Nanoseconds(due, now));
        }

        if (_emitted - Volatile.Read(ref _ended) >= _limit)
        {
            if (counts)
            {
                // Atomic, so that of the last drop and the last end the later one sees both: with a plain store neither may, and nobody signals the end.
                Interlocked.Increment(ref _dropped);
                SignalIfAllEnded();
            }

            return false;
        }

        _due.Enqueue(new PacedStart(due, counts));
        _emitted++;
        return true;
    }

    private void SignalIfAllEnded()
    {
        if (Unfinished <= 0)
        {
            _allEnded.Set();
        }
    }

    // By default the kernel lets a sleep last 50 us longer, to wake several sleepers at once.
    private static void TightenSleep()
    {
        if (OperatingSystem.IsLinux())
        {
            _ = ProcessControl(SetTimerSlack, 1, 0, 0, 0);
        }
    }

    [LibraryImport("libc", EntryPoint = "prctl")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial int ProcessControl(int option, nuint value, nuint unused3, nuint unused4, nuint unused5);
}

/// <summary>One start that was due.</summary>
/// <param name="Intended">When it was due, in clock units.</param>
/// <param name="Counts">Whether it lies in the measured window.</param>
internal readonly record struct PacedStart(long Intended, bool Counts);
