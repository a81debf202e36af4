namespace Weir.Lab.Workers;

/// <summary>Runs one window: starts the workers at once, measures while all of them run, and ends them.</summary>
/// <remarks>
/// It blocks, and has to run on a thread of its own: on the pool it would be stopped by a workload that takes all threads.
/// <para>
/// Who may touch what. One thread runs the window: it alone uses the fields here, starts the workers, and calls a worker again that has ended
/// (<see cref="WorkerSlot.MayHelp"/>). A worker uses its <see cref="WorkerSlot"/>, and meets the others only in <see cref="WindowState"/>: it reads the phase
/// between two operations, and counts itself out of what the window waits for.
/// </para>
/// <para>
/// How it ends. The phases follow each other (<see cref="WindowPhase"/>), and at the end of each the window waits for all workers, as long as the limits of the
/// run and of the plan allow. A worker that does not come by then makes the window stuck. From then on the window waits for a moment only, and what workers
/// still use is not disposed of.
/// </para>
/// </remarks>
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

    // Immutable: what is measured, and how.
    private readonly WorkerRunSpec _spec;
    private readonly WindowPlan _plan;
    private readonly IWorkload _workload;
    private readonly Operation[] _operations;
    private readonly Action<string>? _waiting;
    private readonly CancellationToken _cancellation;
    private readonly CancellationTokenSource? _patience;

    // Shared with the workers, each by its own protocol.
    private readonly WindowState _state;
    private readonly WorkerSlot[] _slots;
    private readonly Pacer? _pacer;
    private readonly WindowLatencies _latencies;

    // Of the window's thread: what it finds.
    private readonly List<TimelinePoint> _timeline = [];
    private readonly List<string> _troubles = [];
    private (long Operations, double Second, TimeSpan Pause, TimeSpan Cpu) _slice;
    private bool _isComplete;
    private bool _isStuck;

    // Of the window's thread, while workers end: which one was called again last, and how many had not ended then.
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
    // it, one after the other. By the mean of the calls: one that got no slot for long, beside others that did, says nothing about how long a call lasts. While
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

/// <summary>What one window is to be.</summary>
/// <param name="Round">The number of the round, from 1; 0 for the warm-up.</param>
/// <param name="Duration">How long it is measured.</param>
/// <param name="Batches">Of each group, how many operations go between two looks at the clock.</param>
internal sealed record WindowPlan(int Round, TimeSpan Duration, IReadOnlyDictionary<string, int> Batches)
{
    /// <summary>The whole operations that it is of, instead of a time.</summary>
    public WholeOperations? Whole { get; init; }

    /// <summary>
    /// How many operations go between two looks at the clock, where that is the same all the time; 1 where it is not, so with several groups and in whole
    /// operations.
    /// </summary>
    public int Batch => Whole is null && Batches.Count == 1 ? Batches.Values.Single() : 1;

    /// <summary>
    /// Whether nothing but the calls of the lab itself matters in it. Then threads of workers that have done a batch wait for its end: on few processors they
    /// would keep the compiler and the window's own thread waiting for milliseconds.
    /// </summary>
    public bool IsPractice { get; init; }

    /// <summary>Whether what happens within the window is written down.</summary>
    public bool HasTimeline { get; init; } = true;

    /// <summary>What times a window of whole operations.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>
    /// When a window of whole operations is given up, and the clock that tells so; <see langword="null"/> for never. The system's own would not do for both:
    /// what is timed is not what is waited for.
    /// </summary>
    public (TimeSpan Limit, TimeProvider Clock)? Patience { get; init; }

    /// <summary>
    /// After what time in which no operation ended a window of whole operations says that it waits, and after what time it is given up;
    /// <see langword="null"/> for never.
    /// </summary>
    public (TimeSpan Said, TimeSpan GivenUp)? Stall { get; init; }

    /// <summary>A plan for one worker and whole operations.</summary>
    public static WindowPlan OfOne(int round, int batch, WholeOperations whole) =>
        new(round, TimeSpan.Zero, new Dictionary<string, int> { [WorkerRunSpec.DefaultGroup] = batch }) { Whole = whole, HasTimeline = false };
}

/// <summary>What one window found, before it becomes a round of a report.</summary>
internal sealed record WindowOutcome
{
    public required long Begin { get; init; }

    public required long End { get; init; }

    public required double Seconds { get; init; }

    public required IReadOnlyList<WorkerSlot> Slots { get; init; }

    public required bool IsPaced { get; init; }

    /// <summary>Whether it is of whole operations, instead of what fits into a time.</summary>
    public required bool IsWhole { get; init; }

    public LatencyHistogram? Service { get; init; }

    public LatencyHistogram? Response { get; init; }

    /// <summary>Of what takes turns, how long whole batches took; <see langword="null"/> where latency was not measured, or of each operation.</summary>
    public LatencyHistogram? BatchTimes { get; init; }

    public required InFlightDepth InFlight { get; init; }

    public PacingResult? Pacing { get; init; }

    public required ResourceUse Resources { get; init; }

    /// <summary>
    /// How many processors were busy on average while the resources were counted, which for a counted window is a little more than the window.
    /// </summary>
    public required double Cores { get; init; }

    /// <summary>What was used from before the first operation until after the last, in the window or not; the allocations are exact.</summary>
    public required ResourceUse Whole { get; init; }

    /// <summary>
    /// Bytes that were allocated from before the first operation until after the last, exactly, without those of the window's own thread, of the pacer, and
    /// of waiting for its starts. What the workers need to be there is in it: <see cref="IdleWindow"/> says how much that is.
    /// </summary>
    public long Bytes { get; init; }

    /// <summary>What a worker read itself that was alone in a window of whole operations: then the resources and the bytes are from there.</summary>
    public SoloUse? Solo { get; init; }

    /// <summary>What the first operation threw that failed.</summary>
    public Exception? FirstError => Slots.Select(static s => s.FirstError).FirstOrDefault(static e => e is not null);

    /// <summary>The groups whose operations are awaited.</summary>
    public IReadOnlySet<string> AsyncGroups { get; init; } = new HashSet<string>();

    /// <summary>The operation of the first worker.</summary>
    public Operation? First { get; init; }

    public required IReadOnlyList<TimelinePoint> Timeline { get; init; }

    public required IReadOnlyList<string> Troubles { get; init; }

    public required bool IsPartial { get; init; }

    /// <summary>Whether a worker stood still: it would do so in the next window too.</summary>
    public bool IsStuck { get; init; }

    public long Executed => Slots.Sum(static s => s.Tally.Executed);

    public long Operations => Slots.Sum(static s => s.Tally.Operations);

    public long Failures => Slots.Sum(static s => s.Tally.Failures);

    /// <summary>The failures by the type of what was thrown, the most frequent first.</summary>
    public Dictionary<string, long> FailureKinds() => Slots.SelectMany(static s => s.FailureKinds ?? []).GroupBy(static k => k.Key, static k => k.Value)
        .OrderByDescending(static g => g.Sum()).ThenBy(static g => g.Key, StringComparer.Ordinal).ToDictionary(static g => g.Key, static g => g.Sum());

    public double Rate => Groups().Sum(static g => g.Rate);

    /// <summary>How many operations of each group are to go between two looks at the clock in the next window.</summary>
    public Dictionary<string, int> NextBatches()
    {
        double? median = Service is { Count: > 0 } latencies ? latencies.ValueAtPercentile(50) : null;
        return Groups().ToDictionary(static g => g.Name, g => BatchOf(g, median));
    }

    /// <summary>Of operations as a window showed them, how many go between two looks at the clock.</summary>
    /// <remarks>
    /// What a look costs is in the rate, so processes that are compared must have batches of one size. The rate of a window that had few processors is too low
    /// by any factor, so the shortest batch counts. Of operations that are not alike a batch lasts four times as long as usual at most, which is no stall yet.
    /// </remarks>
    /// <param name="group">What the window showed.</param>
    /// <param name="median">The median latency, in nanoseconds; <see langword="null"/> if it was not measured.</param>
    internal static int BatchOf(GroupResult group, double? median)
    {
        const int most = 4;
        const double shortLatency = 1_000;
        int byRate = BatchOf(group.Rate > 0 ? group.Workers * 1e9 / group.Rate : 0);
        return byRate > 1 || median < shortLatency ? Math.Clamp(BatchOf(group.Quickest), byRate, most * byRate) : byRate;
    }

    /// <summary>Of operations of a given length, how many go between two looks at the clock.</summary>
    internal static int BatchOf(double nanoseconds)
    {
        // Two readings of the clock are 2 % of 2 microseconds. Shorter operations go in batches of about 10 microseconds, of which one is timed.
        const double short_ = 2_000;
        const double batch = 10_000;
        const int most = 4_096;
        return nanoseconds >= short_ || !(nanoseconds > 0)
            ? 1
            : (int)Math.Min(most, System.Numerics.BitOperations.RoundUpToPowerOf2((uint)Math.Clamp(batch / nanoseconds, 1, most)));
    }

    public RoundTotals Totals() => new(
        Slots.GroupBy(static s => s.Context.Group).ToDictionary(static g => g.Key, static g => g.Sum(static s => s.Tally.Executed)), Failures);

    public List<WorkerCount> Workers() => [.. Slots.Select(Count)];

    public List<GroupResult> Groups() =>
    [
        .. Slots.GroupBy(static s => s.Context.Group).Select(group =>
        {
            WorkerCount[] workers = [.. group.Select(Count)];
            return new GroupResult(
                group.Key,
                workers.Length,
                workers.Sum(static w => w.Operations),
                IsWhole ? workers.Sum(static w => w.Operations) / Seconds : workers.Sum(static w => w.Rate),
                group.First().Batch,
                Fairness.Of([.. workers.Select(static w => w.Rate)], workers.Max(static w => w.LongestGap)))
            {
                Quickest = group.Where(static s => s.Tally.ShortestGap > 0)
                    .Select(static s => (double)Clock.Nanoseconds(0, s.Tally.ShortestGap) / s.Batch).DefaultIfEmpty().Min(),
            };
        }),
    ];

    private WorkerCount Count(WorkerSlot slot)
    {
        ref readonly WorkerTally tally = ref slot.Tally;
        double seconds = IsPaced ? PacedSeconds()
            : IsWhole && tally.LastEnd > tally.Start ? Clock.Nanoseconds(tally.Start, tally.LastEnd) / 1e9
            : Seconds;
        return new WorkerCount(
            slot.Context.Group,
            slot.Context.Worker,
            tally.Operations,
            seconds,
            TimeSpan.FromTicks(Clock.Nanoseconds(0, tally.LongestGap) / TimeSpan.NanosecondsPerTick))
        {
            // With a rate or a number of operations it is given which ones count; otherwise the window cuts through some.
            Work = IsPaced || IsWhole ? tally.Operations : WindowWork.Of(tally, slot.Batch, Begin, End),
        };
    }

    // Operations of the window may end after it, when the rate is more than can be done: then that time counts too.
    private double PacedSeconds() => Math.Max(
        Seconds, Slots.Max(static s => s.Tally.LastEnd) is > 0 and long last ? Clock.Nanoseconds(Begin, last) / 1e9 : 0);
}

/// <summary>How much a worker did in a window: nothing else says what a rate counts.</summary>
internal static class WindowWork
{
    /// <summary>
    /// Operations that lie wholly in the window, and those that were under way at its ends by the share of their time that lies in it. A worker that
    /// is never idle does <c>length / duration</c> of them, however long they are; of whole operations only, there are up to one too many or too few.
    /// </summary>
    /// <param name="tally">What the worker counted. It ends the operation that is under way at the window's end.</param>
    /// <param name="batch">How many operations it did between two looks at the clock; they are taken to last equally long.</param>
    /// <param name="begin">When the window began.</param>
    /// <param name="end">When it ended.</param>
    public static double Of(in WorkerTally tally, int batch, long begin, long end)
    {
        double first = tally.FirstDone * ShareWithin(tally.FirstStart, tally.Start, begin, end);
        double outside = tally.LastEnd > end ? Math.Min(batch, tally.Operations) * (1 - ShareWithin(tally.LastStart, tally.LastEnd, begin, end)) : 0;
        return first + tally.Operations - outside;
    }

    private static double ShareWithin(long from, long to, long begin, long end) =>
        to <= from ? 1 : Math.Clamp((double)(Math.Min(to, end) - Math.Max(from, begin)) / (to - from), 0, 1);
}

/// <summary>The latencies of a window: a histogram for each worker, or, where there are very many, for some of them together.</summary>
/// <param name="spec">How the run is done.</param>
/// <param name="plan">How the window is done.</param>
internal sealed class WindowLatencies(WorkerRunSpec spec, WindowPlan plan)
{
    // More histograms than this would cost more memory than knowing each worker's latencies is worth.
    private const int MostHistograms = 256;

    private readonly LatencyHistogram[] _service = New(spec, spec.MeasuresLatency);
    private readonly LatencyHistogram[] _response = New(spec, spec is { MeasuresLatency: true, RatePerSecond: not null });

    // Only what takes turns is compared by them, and each round keeps its own.
    private readonly LatencyHistogram[] _batches = New(spec, spec is { MeasuresLatency: true, TakesTurns: true } && plan.Batch > 1);

    /// <summary>Where a worker records; <see langword="null"/> when latency is not measured.</summary>
    public LatencyRecorder? RecorderOf(int worker) => _service.Length == 0
        ? null
        : new LatencyRecorder(
            _service[worker % _service.Length],
            _response.Length > 0 ? _response[worker % _service.Length] : null,
            _batches.Length > 0 ? _batches[worker % _service.Length] : null,
            isShared: spec.Workers > _service.Length);

    /// <summary>All service times; <see langword="null"/> when latency was not measured.</summary>
    public LatencyHistogram? Service() => Merge(_service);

    /// <summary>All response times; <see langword="null"/> when there was no rate.</summary>
    public LatencyHistogram? Response() => Merge(_response);

    /// <summary>How long whole batches took; <see langword="null"/> where there are none, or such of several sizes, and where nothing takes turns.</summary>
    public LatencyHistogram? Batches() => Merge(_batches);

    private static LatencyHistogram? Merge(LatencyHistogram[] parts)
    {
        if (parts.Length == 0)
        {
            return null;
        }

        LatencyHistogram sum = new();
        foreach (LatencyHistogram part in parts)
        {
            sum.Merge(part);
        }

        return sum;
    }

    private static LatencyHistogram[] New(WorkerRunSpec spec, bool isNeeded) =>
        [.. Enumerable.Range(0, isNeeded ? Math.Min(spec.Workers, MostHistograms) : 0).Select(static _ => new LatencyHistogram())];
}
