using System.Collections.Concurrent;
using System.Reflection;

namespace Weir.Explore.Scheduling;

/// <summary>One schedule of a program: its threads, of which one runs at a time, its time, and what was chosen.</summary>
/// <remarks>
/// The protocol. Each thread of the program is a <see cref="ControlledThread"/> on a system thread of its own (<see cref="Worker"/>), and exactly one of them
/// runs. Rewritten code calls the running one at each point: it makes a step (<see cref="Step"/>), waits for a condition (<see cref="Blocked"/>), lets others
/// run first (<see cref="Yield"/>) or ends (<see cref="Ended"/>). There it chooses who runs next (<see cref="ChooseNext"/>), resumes that thread and waits
/// until it is resumed itself (<see cref="SwitchTo"/>). So no lock is needed: whoever runs may touch all state, and each switch is a signal that is set and
/// waited for.
/// <para>
/// A choice is made only where several threads can run, and each is recorded as a <see cref="Decision"/>; the same decisions give the same schedule. When
/// nobody can run, time advances to the next timer; when there is none, the schedule is over. It ends well if the body's task has ended, and otherwise with a
/// deadlock.
/// </para>
/// <para>
/// The end. <see cref="Stop"/> sets <c>_isStopping</c> and the signal that <see cref="Run"/> waits for. <see cref="Run"/> then resumes each thread that is
/// still somewhere, one after the other, and each runs into a <see cref="StopException"/> at its next point (<see cref="Unwind"/>). After a hang the threads are
/// left behind: the one that runs does not come to a point.
/// </para>
/// </remarks>
internal sealed class Execution(IChooser chooser, ExploreOptions options, SeenStates? seen = null)
{
    private const long TicksOfYield = TimeSpan.TicksPerMicrosecond;
    private const int StopsOfThread = 200;
    private const int MostStepsInARow = 1_000;
    private const BindingFlags Private = BindingFlags.Instance | BindingFlags.NonPublic;

    // Signals: the running thread sets them, and the caller of Run waits.
    private readonly Signal _over = new();
    private readonly Signal _unwound = new();

    // Written by the running thread, and read by the caller of Run, which watches for a hang. _isStopping is set once; by Run itself after a hang.
    private volatile bool _isStopping;
    private volatile ControlledThread? _running;
    private volatile int _steps;

    // Written by threads that are not controlled.
    private volatile string? _uncontrolled;

    // All below: of the running thread.
    private readonly List<ControlledThread> _threads = [];
    private readonly List<ControlledThread> _runnable = [];
    private readonly List<Task> _failedTasks = [];
    private readonly List<ControlledThread> _buffers = [];
    private ControlledThread? _lastStepped;
    private int _stepsInARow;
    private int _stepsOfTime;
    private int _lastId;
    private long _now;
    private bool _isDraining;
    private bool _isMainDone;

    /// <summary>The schedule that is running in this process.</summary>
    public static Execution? Active { get; private set; }

    public List<Decision> Decisions { get; } = [];

    public int Preemptions => Decisions.Count(static d => d.IsPreemption);

    public List<TraceLine> Trace { get; } = [];

    public Failure? Failure { get; private set; }

    public int Steps => _steps;

    /// <summary>Whether it matters that a lock is held from one point to the next: somebody may try to enter it.</summary>
    public bool LocksAreTried { get; } = Statics.TriesLocks;

    /// <summary>Where the awaits are that have not been continued, for the message of a deadlock.</summary>
    public LinkedList<string> Awaits { get; } = new();

    /// <summary>The tasks that were awaited before they had ended.</summary>
    public HashSet<Task> Awaited { get; } = [];

    public Random Random { get; } = new(1);

    /// <summary>The callbacks of cancellation tokens that the program has registered.</summary>
    public Dictionary<CancellationTokenRegistration, Callback> Callbacks { get; } = [];

    /// <summary>What weak references lead to.</summary>
    public List<object?> Held { get; } = [];

    /// <summary>Which threads are cancelling a source.</summary>
    public List<(ControlledThread Thread, CancellationTokenSource Source)> Cancelling { get; } = [];

    public List<VirtualTimer> Timers { get; } = [];

    /// <summary>Null if stores are seen at once.</summary>
    public StoreBuffers? Stores { get; private set; } = options.StoreBuffers ? new StoreBuffers() : null;

    /// <summary>Whether a data race is counted, and does not end the schedule.</summary>
    public bool CountsRaces { get; init; }

    /// <summary>Null if no data races are looked for.</summary>
    public RaceDetector? Races { get; private set; }

    /// <summary>Null if no states are compared, or not any more.</summary>
    public Conflicts? Conflicts { get; private set; } = seen?.Conflicts;

    /// <summary>From which choice on all that follows was seen before.</summary>
    public int SeenFrom { get; private set; } = int.MaxValue;

    /// <summary>Whether the program has asked for the number of a thread.</summary>
    public bool HasReadIds { get; private set; }

    /// <summary>Runs the body on controlled threads until nobody can run.</summary>
    public void Run(Func<Task> body)
    {
        Active = this;
        Races = !options.DataRaces ? null
            : new RaceDetector(Trace, CountsRaces ? static _ => { } : message => Fail(FailureKind.DataRace, message, null));
        Conflicts?.PastsOfAll = () => seen!.Conflicts.Pasts(_threads, seen.IdsMatter);
        ControlledThread main = Create("main", () => RunMain(body), null);
        if (options.TimersFireAnyTime)
        {
            Create("time", RunTimeThread, null).IsBackground = true;
        }

        _running = main;
        main.Resume();
        int stepsBefore = -1;
        while (!_over.Wait(options.Patience))
        {
            if (stepsBefore == _steps)
            {
                Failure ??= new Failure(FailureKind.Hang, Hang(), null);
                break;
            }

            stepsBefore = _steps;
        }

        _isStopping = true;
        if (Failure?.Kind != FailureKind.Hang)
        {
            Unwind();
        }

        Active = null;
    }

    /// <summary>An await was continued on a thread that is not controlled. It goes no further, and the message of the deadlock says so.</summary>
    public void ContinuesUncontrolled(string site) => _uncontrolled = $"\n  that at {site} would go on now, on a thread that the explorer does not control: " +
        "it waits for a network, a file, a timer of another assembly or the like";

    /// <summary>Of a deadlock of awaits: one that was continued on a thread that is not controlled, or is within some time; null if there is none.</summary>
    public string? FindUncontrolled()
    {
        _ = Awaits.Count > 0 && _threads is [_] &&
            System.Threading.SpinWait.SpinUntil(() => _uncontrolled is not null, TimeSpan.FromSeconds(Math.Min(2, options.Patience.TotalSeconds)));
        return _uncontrolled;
    }

    /// <summary>A task has failed. Somebody has to look at its exception.</summary>
    public void Failed(Task task)
    {
        if (!_isStopping)
        {
            _failedTasks.Add(task);
        }
    }

    public void ThrowIfStopping(ControlledThread me)
    {
        if (_isStopping)
        {
            if (++me.Stops > StopsOfThread)
            {
                // Code that takes every exception and continues: its thread is left behind.
                _unwound.Set();
                Thread.Sleep(Timeout.Infinite);
            }

            throw new StopException();
        }
    }

    public void Step(ControlledThread me)
    {
        ThrowIfStopping(me);
        if (IsSpinning(me))
        {
            Yield(me);
            return;
        }

        CountStep(me);
        me.HasStored = false;
        SwitchTo(me, ChooseNext(me));
        Trace.Add(new TraceLine(me.Id, me.Name, me.Site));
        if (me.CallDepth > 0)
        {
            Conflicts?.ReadPlatform(me);
        }
    }

    public void Yield(ControlledThread me)
    {
        ThrowIfStopping(me);
        CountStep(me);
        Trace.Add(new TraceLine(me.Id, me.Name, me.Site));
        _now += TicksOfYield;
        FireTimers();
        FindRunnable(me);
        me.YieldTo(_runnable);
        chooser.Yielded(me);
        SwitchTo(me, ChooseNext(me));
    }

    public void Blocked(ControlledThread me)
    {
        Stores?.Flush(me);
        CountStep(me);
        SwitchTo(me, ChooseNext(me));
        Trace.Add(new TraceLine(me.Id, me.Name, me.Site));
    }

    /// <summary>
    /// A thread waits for tasks. One of the pool runs those in place that it has queued itself and nobody has begun with, the last one first. Whether somebody
    /// has is a choice, and no preemption.
    /// </summary>
    public void RunInPlace(ControlledThread me, Task[] tasks)
    {
        foreach (Task task in me is { AtomicDepth: 0, IsOfPool: true } ? tasks.Reverse() : [])
        {
            if (Find() is not null)
            {
                CountStep(me);
                SwitchTo(me, ChooseNext(null));
            }

            if (Find() is { } queued)
            {
                _threads.Remove(queued);
                Stepped(queued);
                Conflicts?.WriteObject(me, queued);
                queued.RunInPlace();
            }

            ControlledThread? Find() => _threads.Find(t => t.Queued.Task == task && t.Queued.By == me && !t.HasStarted);
        }
    }

    /// <summary>A controlled thread has ended: another one is resumed.</summary>
    public void Ended(ControlledThread thread, Exception? error)
    {
        thread.IsDone = true;
        if (_isStopping)
        {
            _unwound.Set();
            return;
        }

        _threads.Remove(thread);
        Conflicts?.EndThread(thread);
        Stores?.Flush(thread);
        Races?.Release(thread, thread);
        Stepped(thread);
        if (error is not null)
        {
            Stop(new Failure(FailureKind.UnhandledException, $"{thread} ended with an exception that nobody takes: {error.Message}", error));
            return;
        }

        Resume(ChooseNext(null));
    }

    /// <summary>Ends the schedule with a failure, from a controlled thread that goes no further.</summary>
    public void Fail(FailureKind kind, string message, Exception? exception)
    {
        ControlledThread me = ControlledThread.Current!;
        Stop(new Failure(kind, message, exception));
        me.WaitUntilResumed();
        throw new StopException();
    }

    private void RunMain(Func<Task> body)
    {
        ControlledThread me = ControlledThread.Current!;
        Statics.Reset();
        Task task;
        try
        {
            task = body();
        }
        catch (Exception error) when (error is not StopException)
        {
            task = Task.FromException(error);
        }

        me.Site = "the end of the body";
        me.Block("the body's task", () => task.IsCompleted, isInterruptible: false);
        if (task.IsCompletedSuccessfully)
        {
            // From now on there is one order.
            Stores?.FlushAll();
            Stores = null;
            _isMainDone = _isDraining = true;
            return;
        }

        if (!_isStopping)
        {
            Exception error = task.Exception?.InnerException ?? new TaskCanceledException(task);
            Fail(FailureKind.Exception, $"{error.GetType().Name}: {error.Message}", error);
        }
    }

    private void CountStep(ControlledThread me)
    {
        _stepsOfTime = me.IsOfTime ? _stepsOfTime + 1 : 0;
        if (++_steps > options.MaxSteps)
        {
            string last = $"The last thread was {me}, at {me.Site}.";
            Fail(
                FailureKind.Livelock,
                _stepsOfTime > _steps / 2
                    ? $"Nobody else can run: the last {_stepsOfTime} of {options.MaxSteps} steps (MaxSteps) are all of timers and ends of waits. {last}" +
                        Waiting(_threads.FindAll(static t => t.WaitsFor is not null))
                    : $"The schedule has no end: more than {options.MaxSteps} steps (MaxSteps). {last}",
                null);
        }

        Stepped(me);
        Conflicts?.ObserveSite(me);
    }

    private void Stepped(ControlledThread thread)
    {
        foreach (ControlledThread other in _threads)
        {
            other.Stepped(thread);
        }
    }

    private void SwitchTo(ControlledThread me, ControlledThread? next)
    {
        if (next != me)
        {
            Resume(next);
            me.WaitUntilResumed();
            ThrowIfStopping(me);
        }
    }

    private void Resume(ControlledThread? next)
    {
        if (next is null)
        {
            NobodyCanRun();
            return;
        }

        _running = next;
        next.Resume();
    }

    private void FindRunnable(ControlledThread? me)
    {
        _runnable.Clear();
        if (me is not null && me.CanRun(_now))
        {
            _runnable.Add(me);
        }

        foreach (ControlledThread thread in _threads)
        {
            if (thread != me && thread.CanRun(_now))
            {
                _runnable.Add(thread);
            }
        }

        if (Stores is { } stores)
        {
            _runnable.AddRange(_buffers.Where(b => stores.Any(b.Buffers!)));
        }
    }

    private ControlledThread? ChooseNext(ControlledThread? me)
    {
        while (true)
        {
            ControlledThread? next = ChooseOne(me);
            if (next?.Buffers is not { } of)
            {
                return next;
            }

            // No thread runs for it: the oldest store of a buffer comes to memory.
            _steps++;
            Stepped(next);
            Trace.Add(new TraceLine(next.Id, next.Name, Stores!.FlushOldest(of)));
        }
    }

    private ControlledThread? ChooseOne(ControlledThread? me)
    {
        FireTimers();
        FindRunnable(me);
        if (_runnable.Count == 0)
        {
            if (_isDraining || !AdvanceTime())
            {
                return null;
            }

            FindRunnable(me);
        }

        if (_runnable.Exists(static t => t.IsYielding))
        {
            HoldBackYielding();
        }

        if (_runnable.Count == 1 || _isDraining)
        {
            return _runnable[0];
        }

        bool couldContinue = _runnable[0] == me;
        CompareState(me, couldContinue);
        int chosen = chooser.Choose(_runnable, couldContinue);
        Decisions.Add(new Decision((byte)chosen, (byte)Math.Min(_runnable.Count, byte.MaxValue), couldContinue));
        return _runnable[chosen];
    }

    private void HoldBackYielding()
    {
        List<ControlledThread> first = _runnable.FindAll(t => !t.YieldsToOneOf(_runnable));

        // One that lets others go first is held back while one of those can run that is not held back itself.
        if (_runnable.Exists(t => !t.IsYielding || !t.YieldsToOneOf(first)))
        {
            _runnable.RemoveAll(t => t.IsYielding && t.YieldsToOneOf(first));
        }
    }

    private void NobodyCanRun()
    {
        if (!_isMainDone)
        {
            Stop(new Failure(FailureKind.Deadlock, "Nobody can run." + Waiting(_threads), null));
            return;
        }

        if (options.UnobservedExceptionsFail && _failedTasks.Find(static t => !IsObserved(t)) is { Exception.InnerException: { } error })
        {
            Stop(new Failure(FailureKind.UnobservedException, $"A task failed, and nobody has looked: {error.GetType().Name}: {error.Message}", error));
            return;
        }

        List<ControlledThread> left = _threads.FindAll(static t => !t.IsBackground && t.WakeAt == long.MaxValue);
        Stop(left.Count > 0 ? new Failure(FailureKind.LeftRunning, "The body has ended, and threads that it began have not." + Waiting(left), null) : null);
    }

    /// <summary>True if the platform does not say it.</summary>
    private static bool IsObserved(Task task)
    {
        object? properties = typeof(Task).GetField("m_contingentProperties", Private)?.GetValue(task);
        return Field(Field(properties, "m_exceptionsHolder"), "m_isHandled") is not false;
    }

    private static object? Field(object? owner, string name) => owner?.GetType().GetField(name, Private)?.GetValue(owner);

    private string Waiting(List<ControlledThread> threads) => string.Concat(threads.Select(static t => $"\n  {t} waits for {t.WaitsFor}, at {t.Site}")) +
        string.Concat(Awaits.Select(static a => $"\n  an await has not gone on: {a}"));

    private void Stop(Failure? failure)
    {
        Failure ??= failure;
        _isStopping = true;
        _over.Set();
    }

    /// <summary>Lets each thread that is still somewhere run into an exception, one after the other.</summary>
    private void Unwind()
    {
        foreach (ControlledThread thread in _threads)
        {
            if (thread.HasStarted && !thread.IsDone)
            {
                thread.Resume();
                if (!_unwound.Wait(options.Patience))
                {
                    Failure ??= new Failure(FailureKind.Hang, $"{thread} did not end with its schedule in {Patience}; it was at {thread.Site}.", null);
                }
            }
        }
    }

    private string Patience => $"{options.Patience.TotalSeconds:0.#} seconds of real time";

    private string Hang() =>
        $"No point was reached in {Patience}. The running thread, {_running}, came last to {_running?.Site}. " +
        "What it called there or after that waits for something that is not controlled, or never ends.";

    // What comes before what.

    public int IdOf(ControlledThread thread)
    {
        HasReadIds = true;
        return (int)Observe((ulong)thread.Id);
    }

    /// <summary>A call of the platform without a clock of its own, which may change anything but plain fields.</summary>
    public void CallPlatform(ControlledThread me)
    {
        Races?.AcquireReleasePlatform(me);
        Conflicts?.WritePlatform(me);
    }

    /// <summary>What the thread has done happens before what those do that see the end of a task, or of another object.</summary>
    public void Release(ControlledThread me, object ended)
    {
        Races?.Release(me, ended);
        if (ended is Task task)
        {
            Conflicts?.EndTask(me, task);
        }
        else
        {
            Conflicts?.WriteObject(me, ended);
        }
    }

    /// <summary>A plain read. Through a reference, others may have changed the location in a call of the platform.</summary>
    public void Read<T>(ControlledThread me, ref T location, string site, bool isThrough, bool isPoint = false)
    {
        Races?.Read(me, ref location, site, isPoint);
        Conflicts?.Read(me, ref location, isThrough);
    }

    /// <summary>A plain write.</summary>
    public void Write<T>(ControlledThread me, ref T location, string site, bool isThrough, bool isPoint = false)
    {
        Races?.Write(me, ref location, site, isPoint);
        Conflicts?.Write(me, ref location, isThrough);
    }

    /// <summary>The running thread observes a value that others may change.</summary>
    public ulong Observe(ulong value)
    {
        if (Conflicts is not null && ControlledThread.Current is { } me)
        {
            Conflicts.Observe(me, value);
        }

        return value;
    }

    /// <summary>A choice whose state was seen before is the last one that the search has to know of.</summary>
    private void CompareState(ControlledThread? me, bool couldContinue)
    {
        if (Conflicts is null)
        {
            return;
        }

        ulong state = Conflicts.State(Conflicts.PastsOfAll!(), _runnable, couldContinue ? me : null, _now, _stepsInARow);
        if (!seen!.IsNew(Decisions.Count, state))
        {
            SeenFrom = Decisions.Count;
            Conflicts = null;
        }
    }

    /// <summary>A thread that may begin from now on.</summary>
    /// <param name="name">What it is, for messages.</param>
    /// <param name="body">What it does.</param>
    /// <param name="context">Where it does it; null for the default.</param>
    /// <param name="after">What happens before its beginning; null for what the calling thread has done.</param>
    /// <param name="timer">The timer that begins it, whatever thread runs just then.</param>
    public ControlledThread Create(string name, Action body, ExecutionContext? context, VectorClock? after = null, object? timer = null)
    {
        if (ControlledThread.Current is { } creator)
        {
            Stores?.Flush(creator);
        }

        ControlledThread thread = new(this, ++_lastId, name, body, context);
        if (Races is not null)
        {
            after ??= ControlledThread.Current is { } me ? Races.Fork(me) : new VectorClock();
            thread.Clock.Join(after);
            thread.Clock.Increment(thread.Id);
        }

        Conflicts?.BeginThread(ControlledThread.Current, thread, timer, _now);
        thread.IsOfTime = timer is not null || ControlledThread.Current is { IsOfTime: true };
        if (!_isStopping)
        {
            _threads.Add(thread);
        }

        return thread;
    }

    // When time moves, and stores become visible.

    /// <summary>The time of the schedule, in ticks.</summary>
    public long Now => (long)Observe((ulong)_now);

    /// <summary>The time, for what is no part of the program under test.</summary>
    public long Ticks => _now;

    /// <summary>A thread that advances the time whenever it is chosen. The others come first until each has made a step.</summary>
    private void RunTimeThread()
    {
        ControlledThread me = ControlledThread.Current!;
        while (true)
        {
            me.Site = "the next timer";
            me.Block("a timer", () => !_isDraining && NextTime() != long.MaxValue);
            AdvanceTime();
            me.Yield();
        }
    }

    /// <summary>A thread stores: its buffer can be chosen as a thread can.</summary>
    public void AddBuffer(ControlledThread of) =>
        _buffers.Add(new ControlledThread(this, of.Id, $"store buffer of {of.Name}", static () => { }, null) { Buffers = of });

    private long NextTime() => Timers.Select(static t => t.DueAt).Concat(_threads.Select(static t => t.WakeAt)).Append(long.MaxValue).Min();

    private void FireTimers()
    {
        while (Timers.Count > 0 && Timers.MinBy(static t => t.DueAt) is { } first && first.DueAt <= _now)
        {
            first.Fire();
        }
    }

    private bool AdvanceTime()
    {
        long next = NextTime();
        if (next == long.MaxValue)
        {
            return false;
        }

        _now = Math.Max(_now, next);
        FireTimers();
        return true;
    }

    /// <summary>Many steps of one thread alone: it may spin with atomic operations for one that cannot run before it stops.</summary>
    private bool IsSpinning(ControlledThread me)
    {
        _stepsInARow = me == _lastStepped ? _stepsInARow + 1 : 1;
        _lastStepped = me;
        return _stepsInARow % MostStepsInARow == 0;
    }
}

/// <summary>A thread, a work item of the pool or a timer's call of the program under test. It runs only between being resumed and its next point.</summary>
internal sealed class ControlledThread(Execution execution, int id, string name, Action body, ExecutionContext? context) : TrackedThread(id, name)
{
    [ThreadStatic]
    private static ControlledThread? _current;

    private readonly List<ControlledThread> _yieldsTo = [];
    private Worker? _worker;
    private Func<bool>? _condition;
    private long _wakeAt = long.MaxValue;
    private bool _isInterruptible;
    private bool _isInterrupted;
    private bool _hasBuffer;

    /// <summary>The one that runs on the calling thread; null on a thread that no schedule controls.</summary>
    public static ControlledThread? Current => _current;
    public Execution Execution => execution;

    public bool IsBackground { get; set; }

    /// <summary>The thread whose store buffer this stands for; null for one that runs.</summary>
    public ControlledThread? Buffers { get; init; }

    /// <summary>Whether it has stored what others see, and has come to no point since then.</summary>
    public bool HasStored { get; set; }

    /// <summary>What it waits for, if it is blocked.</summary>
    public string? WaitsFor { get; private set; }

    public bool IsDone { get; set; }

    /// <summary>Whether it runs because time has passed: it is a timer's call, has come of one, or has waited to the end of a limit.</summary>
    public bool IsOfTime { get; set; }

    public bool HasStarted => _worker is not null;

    /// <summary>Of a work item: the task that it is to run, if it is one, and who has queued it.</summary>
    public (Task? Task, ControlledThread? By) Queued { get; set; }

    public bool IsOfPool => !Name.StartsWith("thread", StringComparison.Ordinal);

    public int AtomicDepth { get; set; }

    public int Stops { get; set; }

    public bool IsYielding => _yieldsTo.Count > 0;
    public override IReadOnlyList<TrackedThread> YieldsTo => _yieldsTo;

    /// <summary>When it continues although its condition does not hold.</summary>
    public long WakeAt => _condition is null ? long.MaxValue : _wakeAt;

    public object? Tag { get; set; }

    /// <summary>In how many calls of the platform it is that call the program under test.</summary>
    public int CallDepth { get; set; }

    /// <summary>A task of the scheduler that it runs. It ends inside a call of the platform, before what that continues with.</summary>
    public Task? Runs { get; set; }

    public bool CanRun(long now) => _condition is null || now >= _wakeAt || (_isInterrupted && _isInterruptible) || _condition();

    /// <summary>Others that can run come before it, until each of them made a step.</summary>
    public void YieldTo(List<ControlledThread> others) => _yieldsTo.AddRange(others.Where(o => o != this));
    public void Stepped(ControlledThread other) => _yieldsTo.Remove(other);
    public bool YieldsToOneOf(List<ControlledThread> runnable) => _yieldsTo.Exists(runnable.Contains);
    public void Interrupt() => _isInterrupted = true;

    /// <summary>A point without a condition: whoever is chosen runs on.</summary>
    public void Step(string site, bool orders = true)
    {
        Site = site;
        Step(orders);
    }

    /// <summary>A point.</summary>
    /// <param name="orders">Whether it comes before each such point that follows, on whatever thread.</param>
    public void Step(bool orders = true)
    {
        if (AtomicDepth == 0)
        {
            Execution.Step(this);
            Execution.Stores?.Flush(this);
            if (orders)
            {
                Execution.CallPlatform(this);
            }
        }
    }

    /// <summary>A point of an operation on one object, or on what is told apart from it.</summary>
    public void StepOn(object? used)
    {
        if (AtomicDepth == 0)
        {
            Step(orders: false);
            Execution.Races?.AcquireReleasePlatform(this);
            Execution.Conflicts?.WriteObject(this, used);
        }
    }

    /// <summary>A point at which stores may stay where others do not see them.</summary>
    public void Access(string site)
    {
        Site = site;
        if (AtomicDepth == 0)
        {
            Execution.Step(this);
        }
    }

    /// <summary>It is about to store.</summary>
    public void Stored()
    {
        HasStored = AtomicDepth == 0;
        if (HasStored && Execution.Stores is not null && !_hasBuffer)
        {
            _hasBuffer = true;
            Execution.AddBuffer(this);
        }
    }

    public void Yield()
    {
        if (AtomicDepth == 0)
        {
            Execution.Stores?.Flush(this);
            Execution.Yield(this);
        }
    }

    /// <summary>Waits until the condition holds (true) or the time is up (false).</summary>
    /// <param name="what">For what, for messages.</param>
    /// <param name="condition">What is waited for.</param>
    /// <param name="timeout">How long at most; null, or less than zero, for as long as it takes.</param>
    /// <param name="isInterruptible">Whether an interrupt ends it.</param>
    /// <param name="orders">Whether what the condition depends on is not told apart from it.</param>
    public bool Block(string what, Func<bool> condition, TimeSpan? timeout = null, bool isInterruptible = true, bool orders = true)
    {
        Execution.ThrowIfStopping(this);
        TakeInterrupt(isInterruptible);
        bool isThere = condition();
        if (isThere || timeout is { Ticks: 0 })
        {
            Execution.Observe(Conflicts.BitsOf(isThere));
            return isThere;
        }

        if (AtomicDepth > 0)
        {
            throw new NotSupportedException(
                $"A class constructor waits for {what}, at {Site}. Constructors of classes run in one piece, so it would never end.");
        }

        WaitsFor = what;
        _wakeAt = timeout is { Ticks: > 0 } time ? Execution.Now + time.Ticks : long.MaxValue;
        _isInterruptible = isInterruptible;
        _condition = condition;
        Execution.Blocked(this);
        _condition = null;
        WaitsFor = null;
        bool holds = condition();
        IsOfTime = !holds;
        Execution.Observe(Conflicts.BitsOf(holds));
        if (orders)
        {
            Execution.Conflicts?.WritePlatform(this);
        }

        TakeInterrupt(!holds && isInterruptible);
        return holds;
    }

    public void Resume() => (_worker ??= Worker.For(this)).Resumed.Set();
    public void WaitUntilResumed() => _worker!.Resumed.Wait();

    /// <summary>What it does, on any thread.</summary>
    public Action RunInPlace => context is null ? body : () => ExecutionContext.Run(context, static body => ((Action)body!)(), body);

    /// <summary>Runs it on the worker that was resumed for it. What is returned resumes another thread.</summary>
    /// <param name="clean">A context without values, which undoes what the code inside sets, for a thread that has none of its own.</param>
    public Action RunToEnd(ExecutionContext clean)
    {
        _current = this;
        Exception? error = null;
        byte here;
        unsafe
        {
            StackBase = (nint)(&here);
        }

        try
        {
            Statics.ClearThread();
            ExecutionContext.Run(context ?? clean, static body => ((Action)body!)(), body);
        }
        catch (StopException)
        {
        }
        catch (Exception thrown)
        {
            error = thrown;
        }

        _current = null;
        return () => Execution.Ended(this, error);
    }

    private void TakeInterrupt(bool isWanted)
    {
        if (isWanted && _isInterrupted)
        {
            _isInterrupted = false;
            Execution.CallPlatform(this);
            throw new ThreadInterruptedException();
        }
    }
}

/// <summary>A thread of the system that runs one controlled thread after the other. Later schedules use it again.</summary>
internal sealed class Worker
{
    private static readonly ConcurrentStack<Worker> Idle = new();
    private ControlledThread? _job;

    private Worker() => new Thread(Loop) { IsBackground = true, Name = "Weir.Explore" }.UnsafeStart();

    public Signal Resumed { get; } = new();

    /// <summary>A worker that runs <paramref name="job"/> when it is resumed.</summary>
    public static Worker For(ControlledThread job)
    {
        Worker worker = Idle.TryPop(out Worker? idle) ? idle : new Worker();
        worker._job = job;
        return worker;
    }

    private void Loop()
    {
        ExecutionContext clean = ExecutionContext.Capture()!;
        while (true)
        {
            Resumed.Wait();
            ControlledThread job = _job!;
            _job = null;
            Action afterwards = job.RunToEnd(clean);

            // Idle first: whoever runs next may need a worker at once.
            Idle.Push(this);
            afterwards();
        }
    }
}

/// <summary>A signal that one thread sets and another waits for, as an <see cref="AutoResetEvent"/>, but with a short spin before it blocks.</summary>
internal sealed class Signal
{
    private readonly ManualResetEventSlim _set = new(false, spinCount: 30);

    public void Set() => _set.Set();
    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan);

    public bool Wait(TimeSpan patience)
    {
        bool isSet = _set.Wait(patience);
        if (isSet)
        {
            _set.Reset();
        }

        return isSet;
    }
}

/// <summary>
/// A timer on the time of a schedule, which calls on a thread of the pool. As with the platform's, no call begins after it was disposed of, and who disposes of it
/// asynchronously waits for those that have begun.
/// </summary>
internal sealed class VirtualTimer(Execution execution, TimerCallback callback, object? state) : ITimer
{
    private readonly ExecutionContext? _context = ExecutionContext.Capture();
    private VectorClock? _after;
    private TimeSpan _period;
    private bool _isDisposed;
    private int _calls;
    private TaskCompletionSource? _lastCall;

    public long DueAt { get; private set; } = long.MaxValue;

    /// <summary>Whether it has ever come to its time, even if its call has not begun.</summary>
    public bool HasFired { get; private set; }

    public bool Change(TimeSpan dueTime, TimeSpan period)
    {
        execution.Conflicts?.WriteObject(ControlledThread.Current, this);
        if (_isDisposed)
        {
            return false;
        }

        _period = period;
        _after = ControlledThread.Current is { } me ? execution.Races?.Fork(me) : null;
        Set(dueTime < TimeSpan.Zero ? long.MaxValue : execution.Now + dueTime.Ticks);
        return true;
    }

    public void Fire()
    {
        HasFired = true;
        Set(_period > TimeSpan.Zero ? execution.Ticks + _period.Ticks : long.MaxValue);
        execution.Create("timer", Call, _context, _after, this).IsBackground = true;
    }

    public void Dispose()
    {
        execution.Conflicts?.WriteObject(ControlledThread.Current, this);
        _isDisposed = true;
        Set(long.MaxValue);
    }

    public ValueTask DisposeAsync()
    {
        Dispose();
        return _calls == 0 ? default : new ValueTask((_lastCall ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task);
    }

    private void Set(long dueAt)
    {
        execution.Timers.Remove(this);
        DueAt = dueAt;
        if (dueAt != long.MaxValue)
        {
            execution.Timers.Add(this);
        }
    }

    private void Call()
    {
        ControlledThread me = ControlledThread.Current!;
        execution.Conflicts?.WriteObject(me, this);
        if (_isDisposed)
        {
            return;
        }

        if (callback.Method.Module == typeof(object).Module)
        {
            // The platform does in it what nobody is told of.
            execution.Conflicts?.WritePlatform(me);
        }

        _calls++;
        try
        {
            callback(state);
        }
        finally
        {
            execution.Conflicts?.WriteObject(me, this);
            if (--_calls == 0 && _lastCall is not null)
            {
                execution.Release(me, _lastCall.Task);
                _lastCall.TrySetResult();
            }
        }
    }
}

/// <summary>A callback of a cancellation token, and who is running it.</summary>
internal sealed class Callback(Action<object?, CancellationToken> action, object? state)
{
    public ControlledThread? RunsOn { get; private set; }

    public TaskCompletionSource Ended { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Run(object? unused, CancellationToken token)
    {
        RunsOn = ControlledThread.Current;

        // It may have been registered after the cancellation began, which the platform may have called by itself.
        Execution? execution = RunsOn?.Execution;
        execution?.CallPlatform(RunsOn!);
        try
        {
            action(state, token);
        }
        finally
        {
            execution?.Release(RunsOn!, this);
            execution?.Release(RunsOn!, Ended.Task);
            RunsOn = null;
            Ended.TrySetResult();
        }
    }
}

/// <summary>Chooses at each point of one schedule which thread runs on.</summary>
internal interface IChooser
{
    /// <summary>The index in <paramref name="runnable"/>, which has at least two; the first is the running one if it can continue.</summary>
    int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue);

    /// <summary>The running thread waits in a loop: it lets others go first.</summary>
    void Yielded(ControlledThread thread)
    {
    }
}

/// <summary>One choice of a schedule: which of several threads that could run did. Number 0 is the one that was running, if it could continue.</summary>
internal readonly record struct Decision(byte Chosen, byte Count, bool CouldContinue)
{
    public bool IsPreemption => CouldContinue && Chosen != 0;
}

/// <summary>Why a schedule failed.</summary>
internal sealed record Failure(FailureKind Kind, string Message, Exception? Exception);

/// <summary>Ends a controlled thread whose schedule is over.</summary>
internal sealed class StopException() : Exception("The schedule is over.");

/// <summary>
/// The static fields of a rewritten program. Each class that has some is initialized here, in one piece, and again before each later schedule, in the same
/// order. So no schedule sees what another one left.
/// </summary>
internal sealed class Statics
{
    private static readonly List<IDisposable> Kept = [];
    private Action[] _resets = [];
    private Action[] _threadClears = [];
    private bool _triesLocks;

    /// <summary>Those of the program that is searched. There is one search at a time, and classes of another program are not initialized again.</summary>
    public static Statics Current { get; set; } = new();

    /// <summary>
    /// How many classes there are, and other facts. One that a schedule is the first to use is initialized in the middle of it, and before the first step of all later ones; if
    /// its constructor does what others see, such as to make an instrument, what came before may not come again.
    /// </summary>
    public static int Count => Current._resets.Length + (TriesLocks ? 1 : 0);

    /// <summary>Whether a schedule of the program has tried to enter a lock, which it may find held.</summary>
    public static bool TriesLocks { get => Current._triesLocks; set => Current._triesLocks = value; }

    /// <summary>Called by the class constructor of a rewritten class.</summary>
    public static void Register(Action reset)
    {
        RunInOnePiece(reset);
        Add(ref Current._resets, reset);
    }

    /// <summary>Called by the class constructor of a rewritten class with fields for each thread.</summary>
    public static void RegisterThread(Action clear) => Add(ref Current._threadClears, clear);

    /// <summary>What the platform would hold for ever: it is disposed of before the next schedule.</summary>
    public static void DisposeLater(IDisposable disposable) => Kept.Add(disposable);

    public static void Reset()
    {
        Kept.ForEach(static k => RunInOnePiece(k.Dispose));
        Kept.Clear();
        Array.ForEach(Current._resets, RunInOnePiece);
    }

    public static void ClearThread() => Array.ForEach(Current._threadClears, static clear => clear());

    private static void Add(ref Action[] actions, Action added)
    {
        lock (Kept)
        {
            actions = [.. actions, added];
        }
    }

    private static void RunInOnePiece(Action action)
    {
        ControlledThread? me = ControlledThread.Current;
        if (me is not null)
        {
            me.Execution.Stores?.Flush(me);
            me.AtomicDepth += 1;
        }

        try
        {
            action();
        }
        finally
        {
            me?.AtomicDepth -= 1;
        }
    }
}
