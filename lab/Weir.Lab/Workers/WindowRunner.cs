namespace Weir.Lab.Workers;

/// <summary>Runs one window: starts the workers at once, measures while all of them run, and ends them.</summary>
/// <remarks>It blocks, and has to run on a thread of its own: on the pool it would be stopped by a workload that takes all threads.</remarks>
internal sealed class WindowRunner : IDisposable
{
    private const int Slices = 20;
    private static readonly TimeSpan ShortestSlice = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan LongestRamp = TimeSpan.FromMilliseconds(200);

    // The time after which a user wonders what is happening.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    // For operations that end when they are told to stop; nobody waits for the others.
    private static readonly TimeSpan Grace = TimeSpan.FromMilliseconds(300);

    // A call that lasts so many times as long as those before it may wait for something.
    private const int WaitsAfter = 3;
    private static readonly TimeSpan ShortestCall = TimeSpan.FromMilliseconds(30);

    private readonly WorkerRunSpec _spec;
    private readonly WindowPlan _plan;
    private readonly CancellationToken _cancellation;
    private readonly WindowState _state;
    private readonly Pacer? _pacer;
    private readonly WorkerSlot[] _slots;
    private readonly Operation[] _operations;
    private readonly WindowLatencies _latencies;
    private readonly List<TimelinePoint> _timeline = [];
    private readonly List<string> _troubles = [];
    private readonly Action<string>? _waiting;
    private readonly IWorkload _workload;
    private readonly CancellationTokenSource? _patience;
    private (long Operations, double Second, TimeSpan Pause, TimeSpan Cpu) _slice;
    private bool _isComplete;
    private bool _isStuck;
    private int _helper;
    private int _stillLiving;

    private WindowRunner(WorkerRunSpec spec, IWorkload workload, WindowPlan plan, Action<string>? waiting, CancellationToken cancellationToken)
    {
        _waiting = waiting;
        _workload = workload;
        _patience = plan.Patience is { } patience ? new CancellationTokenSource(patience.Limit, patience.Clock) : null;
        _spec = spec;
        _plan = plan;
        _cancellation = cancellationToken;
        _pacer = spec.RatePerSecond is double rate ? new Pacer(rate, spec.MaxInFlight) : null;
        _latencies = new WindowLatencies(spec, plan);
        InFlightMeter inFlight = new();
        _slots = new WorkerSlot[spec.Workers];
        _operations = new Operation[spec.Workers];

        _state = new WindowState(spec.Workers, inFlight, plan.Clock)
        {
            Left = plan.Whole?.Together ?? 0, FailsFast = spec.FailsFast, IsPractice = plan.IsPractice,
        };
        int worker = 0;
        foreach (WorkerGroup group in spec.Groups)
        {
            for (int i = 0; i < group.Workers; i++, worker++)
            {
                int seed = HashCode.Combine(spec.Seed, plan.Round, worker);
                WorkerContext context = new(group.Name, worker, i, seed, inFlight, _state.Stopping);
                _operations[worker] = workload.CreateOperation(context);
                _slots[worker] = new WorkerSlot(_state, context, plan.Batches[group.Name], _latencies.RecorderOf(worker), _pacer, plan.Whole);
            }

            if (_operations.Take(worker).TakeLast(group.Workers).Select(static o => o.IsAsync).Distinct().Count() != 1)
            {
                throw new ArgumentException($"The operations of the group {group.Name} must be all synchronous or all asynchronous.", nameof(workload));
            }
        }
    }

    /// <summary>Runs a window.</summary>
    /// <param name="spec">How the run is done.</param>
    /// <param name="workload">The workload.</param>
    /// <param name="plan">How the window is done.</param>
    /// <param name="cancellationToken">Ends it early.</param>
    /// <param name="waiting">Is told when workers are waited for that long.</param>
    public static WindowOutcome Run(
        WorkerRunSpec spec, IWorkload workload, WindowPlan plan, CancellationToken cancellationToken, Action<string>? waiting = null)
    {
        using WindowRunner runner = new(spec, workload, plan, waiting, cancellationToken);
        return runner.Run();
    }

    public void Dispose()
    {
        _state.Dispose();
        _pacer?.Dispose();
        _patience?.Dispose();
    }

    private WindowOutcome Run()
    {
        Start();
        _workload.WorkersStarting();
        ResourceUse first = ResourceUse.Take();
        AllocationSample allocated = AllocationSample.Take();
        _state.Phase = _plan.Whole is null ? WindowPhase.Ramp : WindowPhase.Measure;
        using CancellationTokenRegistration stop = _plan.Whole is null ? default : StopWithTheRun();
        _state.InFlight.Reset();
        _state.Start();
        StartLoops();
        long opened = Stopwatch.GetTimestamp();
        long begin;
        ResourceUse before;
        ResourceUse after;
        double seconds;
        if (_plan.Whole is not null)
        {
            // All began to count at the start, so there is nothing to wait for but the end.
            begin = Stopwatch.GetTimestamp();
            before = first;
            WaitForWhole();
            seconds = SecondsOfAll();
            after = ResourceUse.TakeRunning();
        }
        else if (_pacer is null)
        {
            ExpectAll(_state.WaitUntilAllRun, "end its first operation");
            _state.InFlight.Reset();
            before = ResourceUse.TakeRunning();
            _state.BeginMeasuring();
            begin = _state.Begin;
            Watch(begin, before);
            Extend(begin);
            _state.EndMeasuring();
            seconds = Math.Max(1, Clock.Nanoseconds(begin, _state.End)) / 1e9;
            after = ResourceUse.TakeRunning();
        }
        else
        {
            TimeSpan ramp = TimeSpan.FromTicks(Math.Min(_plan.Duration.Ticks / 5, LongestRamp.Ticks));
            _pacer.Start(ramp, _plan.Duration);
            WaitFor(Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), _pacer.CountsFrom));
            begin = _pacer.CountsFrom;
            _state.InFlight.Reset();
            _pacer.InFlight.Reset();
            before = ResourceUse.TakeRunning();
            Watch(begin, before);
            seconds = Stopwatch.GetElapsedTime(begin).TotalSeconds;
            after = ResourceUse.TakeRunning();
        }

        ResourceUse use = after - before;
        double cores = use.Cpu.TotalSeconds / Stopwatch.GetElapsedTime(_plan.Whole is null ? begin : opened).TotalSeconds;
        InFlightDepth inFlight = Depth();
        Finish();
        _workload.WorkersEnded();
        long bytes = AllocationSample.Take().OfOthersSince(allocated) - (_pacer?.OwnBytes ?? 0) - _slots.Sum(static s => s.Tally.OwnBytes);
        ResourceUse last = ResourceUse.Take();
        return _slots[0].Solo is { } solo
            ? Outcome(begin, Math.Max(solo.Elapsed.TotalSeconds, 1e-9), inFlight, solo.Resources, solo.Resources) with
            {
                Solo = solo, Cores = solo.Cpu / solo.Elapsed, Bytes = solo.Resources.AllocatedBytes,
            }
            : Outcome(begin, seconds, inFlight, use, last - first) with { Cores = cores, Bytes = bytes };
    }

    private void Start()
    {
        for (int i = 0; i < _slots.Length; i++)
        {
            if (_operations[i].IsAsync)
            {
                _state.SignalReady();
                continue;
            }

            (Operation operation, WorkerSlot slot) = (_operations[i], _slots[i]);
            StartThread(slot, () =>
            {
                _state.WaitForStart();
                RunThread(operation, slot);
            });
        }

        _state.WaitUntilAllReady();
    }

    private void StartLoops()
    {
        for (int i = 0; i < _slots.Length; i++)
        {
            if (_operations[i].IsAsync)
            {
                StartLoop(_operations[i], _slots[i]);
            }
        }
    }

    private static void StartThread(WorkerSlot slot, ThreadStart run) =>
        new Thread(run) { IsBackground = true, Name = $"Weir lab {slot.Context.Group} {slot.Context.IndexInGroup}" }.Start();

    private static void StartLoop(Operation operation, WorkerSlot slot) => ThreadPool.UnsafeQueueUserWorkItem(
        static work => _ = RunLoopAsync(work.Operation, work.Slot), (Operation: operation, Slot: slot), preferLocal: false);

    private static void RunThread(Operation operation, WorkerSlot slot)
    {
        try
        {
            operation.Loop(slot);
        }
        finally
        {
            slot.HasEnded();
        }
    }

    private static async Task RunLoopAsync(Operation operation, WorkerSlot slot)
    {
        try
        {
            await operation.LoopAsync(slot).ConfigureAwait(false);
        }
        finally
        {
            slot.HasEnded();
        }
    }

    // Until the time is over; in slices, of which each becomes a point of the timeline.
    private void Watch(long begin, in ResourceUse before)
    {
        if (_isStuck)
        {
            // All the time that it was given is over.
            _isComplete = true;
            return;
        }

        TimeSpan slice = _plan.HasTimeline ? TimeSpan.FromTicks(Math.Max(_plan.Duration.Ticks / Slices, ShortestSlice.Ticks)) : _plan.Duration;
        (_slice.Operations, _slice.Pause, _slice.Cpu) = (Executed(), before.GcPause, Environment.CpuUsage.TotalTime);
        for (TimeSpan next = slice; !_cancellation.IsCancellationRequested; next += slice)
        {
            TimeSpan end = next < _plan.Duration ? next : _plan.Duration;
            WaitFor(end - Stopwatch.GetElapsedTime(begin));
            EndSlice(begin);
            if (end == _plan.Duration)
            {
                _isComplete = !_cancellation.IsCancellationRequested;
                return;
            }
        }
    }

    // Of operations as long as the window, each worker ends at least one in it and begins another: there is a latency of each.
    private void Extend(long begin)
    {
        if (!_isStuck && !_cancellation.IsCancellationRequested && !_state.WaitUntilAllMeasure(TimeSpan.Zero, default))
        {
            ExpectAll(_state.WaitUntilAllMeasure, "end an operation in the window");
            EndSlice(begin);
        }
    }

    private void EndSlice(long begin)
    {
        double now = Stopwatch.GetElapsedTime(begin).TotalSeconds;
        long done = Executed();
        TimeSpan paused = GC.GetTotalPauseDuration();
        TimeSpan used = Environment.CpuUsage.TotalTime;
        _timeline.Add(new TimelinePoint(
            now,
            (done - _slice.Operations) / Math.Max(now - _slice.Second, 1e-9),
            paused - _slice.Pause,
            ThreadPool.ThreadCount,
            ThreadPool.PendingWorkItemCount,
            _pacer?.InFlight.Depth ?? _state.InFlight.Depth,
            (used - _slice.Cpu) / TimeSpan.FromSeconds(Math.Max(now - _slice.Second, 1e-9)),
            Environment.WorkingSet));
        _slice = (done, now, paused, used);
    }

    // All that have ended: those that count begin in the window, and of long ones none might end in it.
    private long Executed() => _slots.Sum(static s => s.Tally.Executed);

    private double SecondsOfAll() =>
        Math.Max(1, Clock.Nanoseconds(_slots.Min(static s => s.Tally.Start), _slots.Max(static s => s.Tally.LastEnd))) / 1e9;

    private InFlightDepth Depth() =>
        _state.InFlight.IsUsed ? new InFlightDepth(_state.InFlight.Average(), _state.InFlight.Max, true)
        : _pacer is not null ? new InFlightDepth(_pacer.InFlight.Average(), _pacer.InFlight.Max, true)
        : new InFlightDepth(_slots.Length, _slots.Length, false);

    private CancellationTokenRegistration StopWithTheRun()
    {
        // What waiting needs is made before: it must not be counted as a worker's that is alone.
        _state.WaitUntilAllEnded(TimeSpan.FromMilliseconds(1), _patience?.Token ?? default);
        return _cancellation.UnsafeRegister(static state => ((WindowState)state!).Stop(), _state);
    }

    private void WaitForWhole()
    {
        _isStuck = !(_plan.Stall is var (said, givenUp)
            ? WaitWhileTheyEnd(said, givenUp)
            : _state.WaitUntilAllEnded(Timeout.InfiniteTimeSpan, _patience?.Token ?? default));
        _isComplete = !_isStuck && _slots.All(static s => s.IsComplete);
        if (_isStuck)
        {
            _troubles.Add(_plan.Stall is { GivenUp: var limit }
                ? FormattableString.Invariant($"For {limit.TotalSeconds:0.##} s no operation ended, and {_state.Living} of {_slots.Length} workers had not done ")
                    + "theirs."
                : FormattableString.Invariant($"A worker did not end its last operation within {_plan.Patience!.Value.Limit.TotalSeconds:0.#} s."));
        }
    }

    // However long all of them take: what counts is that one ends now and then.
    private bool WaitWhileTheyEnd(TimeSpan said, TimeSpan givenUp)
    {
        long done = Executed();
        TimeSpan still = TimeSpan.Zero;
        while (still < givenUp)
        {
            TimeSpan next = still < said ? said : givenUp;
            if (_state.WaitUntilAllEnded(next - still))
            {
                return true;
            }

            if (Executed() is var now && now != done)
            {
                (done, still) = (now, TimeSpan.Zero);
                continue;
            }

            still = next;
            if (next == said)
            {
                _waiting?.Invoke("end an operation");
            }
        }

        return false;
    }

    private void Finish()
    {
        bool all = true;
        if (_plan.Whole is not null)
        {
            _state.Stop();
        }
        else if (_pacer is null)
        {
            ExpectAll(_state.WaitUntilAllLeft, "end its last operation");
            _state.Stop();
        }
        else
        {
            all = HaveAll(_pacer.WaitUntilAllEnded, "end its last operation", _spec.DrainLimit);
            _state.Stop();
            _pacer.Stop(_slots.Length);
        }

        ExpectAll(_plan.Whole is null && _pacer is null && _slots.Length > 1 ? EndTogether : _state.WaitUntilAllEnded, "stop", all ? null : Grace);
    }

    // A call that needs another one to end, as at a barrier, has nobody left to meet once the others have seen that they are to stop. So these call again for
    // it, one after the other. By the mean of the calls: one that found no place for long, beside others that did, says nothing about how long a call lasts. While
    // no help ends, the next one comes later and later: calls that just last long then end without company.
    private bool EndTogether(TimeSpan limit, CancellationToken stop)
    {
        long ticks = _slots.Sum(static s => s.Tally.LastEnd - s.Tally.Start) / Math.Max(1, _slots.Sum(static s => s.Tally.Operations));
        TimeSpan mean = TimeSpan.FromTicks(Clock.Nanoseconds(0, ticks) / TimeSpan.NanosecondsPerTick);
        TimeSpan first = (mean > ShortestCall ? mean : ShortestCall) * WaitsAfter;
        TimeSpan patience = first;
        for (long begin = Stopwatch.GetTimestamp(); ; patience = Help() ? first : patience * 2)
        {
            TimeSpan left = limit - Stopwatch.GetElapsedTime(begin);
            if (_isStuck || left <= patience || stop.IsCancellationRequested)
            {
                return _state.WaitUntilAllEnded(left > TimeSpan.Zero ? left : TimeSpan.Zero, stop);
            }

            if (_state.WaitUntilAllEnded(patience, stop))
            {
                return true;
            }
        }
    }

    // Whoever has helped helps on, as of producers and consumers only one kind can. Whether the help before has ended.
    private bool Help()
    {
        int living = _state.Living;
        bool helped = living <= _stillLiving;
        _helper += helped ? 0 : 1;
        _stillLiving = living;
        for (int i = 0; i < _slots.Length; i++)
        {
            int worker = (_helper + i) % _slots.Length;
            if (!_slots[worker].MayHelp())
            {
                continue;
            }

            _helper = worker;
            (Operation operation, WorkerSlot slot) = (_operations[worker], _slots[worker]);
            if (operation.IsAsync)
            {
                StartLoop(operation, slot);
            }
            else
            {
                StartThread(slot, () => RunThread(operation, slot));
            }

            break;
        }

        return helped;
    }

    private WindowOutcome Outcome(long begin, double seconds, InFlightDepth inFlight, ResourceUse use, ResourceUse whole) => new()
    {
        Begin = begin,
        End = _state.End,
        Seconds = seconds,
        Slots = _slots,
        IsPaced = _pacer is not null,
        IsWhole = _plan.Whole is not null,
        Service = _latencies.Service(),
        Response = _latencies.Response(),
        BatchTimes = _latencies.Batches(),
        InFlight = inFlight,
        Pacing = _pacer is null
            ? null
            : new PacingResult(_pacer.Counted, _pacer.Dropped, _pacer.LateStarts, _pacer.Unfinished, _pacer.Lateness.ValueAtPercentile(99)),
        Resources = use,
        Cores = 0,
        Whole = whole,
        AsyncGroups = _slots.Where((_, i) => _operations[i].IsAsync).Select(static s => s.Context.Group).ToHashSet(),
        First = _operations[0],
        Timeline = _timeline,
        Troubles = _troubles,
        IsPartial = !_isComplete,
        IsStuck = _isStuck,
    };

    private void ExpectAll(Func<TimeSpan, CancellationToken, bool> wait, string what, TimeSpan? limit = null)
    {
        // What a worker did not do when the run was stopped is no fault of it.
        if (!HaveAll(wait, what, limit ?? _spec.DrainLimit) && !_isStuck && !_cancellation.IsCancellationRequested)
        {
            _isStuck = true;
            _troubles.Add(FormattableString.Invariant($"A worker did not {what} within {_spec.DrainLimit.TotalSeconds:0.#} s."));
        }
    }

    // What stands still once is not waited for again, nor is anything when the run is being stopped.
    private bool HaveAll(Func<TimeSpan, CancellationToken, bool> wait, string what, TimeSpan limit)
    {
        if (!_isStuck && _waiting is not null && limit > Patience)
        {
            if (wait(Patience, _cancellation))
            {
                return true;
            }

            limit -= Patience;
            if (!_cancellation.IsCancellationRequested)
            {
                _waiting(what);
            }
        }

        return (!_isStuck && wait(limit, _cancellation)) || ((_isStuck || _cancellation.IsCancellationRequested) && wait(Grace, CancellationToken.None));
    }

    // Whole milliseconds, rounded up: less would end the window early.
    private void WaitFor(TimeSpan time)
    {
        if (time > TimeSpan.Zero)
        {
            _cancellation.WaitHandle.WaitOne((int)Math.Ceiling(time.TotalMilliseconds));
        }
    }
}
