namespace Weir.Lab.Workers;

/// <summary>One worker's place in a window: tells it what to do next, and keeps its counts.</summary>
internal sealed class WorkerSlot(WindowState window, WorkerContext context, int batch, LatencyRecorder? recorder, Pacer? pacer, WholeOperations? whole)
{
    // A batch is made to last about a tenth of this: longer, and one of its calls that was not timed must have stalled.
    private static readonly long Stalled = Clock.Ticks(TimeSpan.FromMicroseconds(100));

    // Long enough to cost nothing, short enough that loops which never suspend take turns on few threads.
    private static readonly long YieldAfter = Clock.Ticks(TimeSpan.FromMilliseconds(2));

    // Of practice: short for a call that needs this one, long for the compiler.
    private static readonly TimeSpan Rest = TimeSpan.FromMilliseconds(1);

    private const int GroupsInTime = 128;

    private readonly LatencyRecorder _recorder = recorder.GetValueOrDefault();
    private readonly bool _isAlone = whole is not null && window.Workers == 1;
    private WorkerTally _tally;
    private SoloReading _before;
    private TimeSpan _elapsed;
    private int _group = 1;
    private bool _helps;
    private bool _isFinished;
    private volatile bool _hasEnded;

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
    /// <returns>Whether the worker goes on.</returns>
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
