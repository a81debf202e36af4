using System.Reflection;

namespace Weir.Explore.Scheduling;

/// <summary>One schedule of a program: its threads, of which one runs at a time, its time, and what was chosen.</summary>
internal sealed partial class Execution(IChooser chooser, ExploreOptions options, SeenStates? seen = null)
{
    private const long TicksOfYield = TimeSpan.TicksPerMicrosecond;
    private const int StopsOfThread = 200;
    private const BindingFlags Private = BindingFlags.Instance | BindingFlags.NonPublic;

    private readonly List<ControlledThread> _threads = [];
    private readonly List<ControlledThread> _runnable = [];
    private readonly List<Task> _failedTasks = [];
    private readonly Turn _over = new();
    private readonly Turn _unwound = new();
    private volatile bool _isStopping;
    private bool _isDraining;
    private bool _isMainDone;
    private int _lastId;
    private volatile string? _elsewhere;
    private volatile ControlledThread? _running;
    private volatile int _steps;

    /// <summary>The schedule that is running in this process.</summary>
    public static Execution? Active { get; private set; }

    public List<Decision> Decisions { get; } = [];

    public int Preemptions => Decisions.Count(static d => d.IsPreemption);

    public List<TraceLine> Trace { get; } = [];

    public Failure? Failure { get; private set; }

    public int Steps => _steps;

    /// <summary>Where the awaits are that have not gone on, for the message of a deadlock.</summary>
    public LinkedList<string> Awaits { get; } = new();

    public Random Random { get; } = new(1);

    /// <summary>The callbacks of cancellation tokens that the program has registered.</summary>
    public Dictionary<CancellationTokenRegistration, Callback> Callbacks { get; } = [];

    /// <summary>Who is in a cancellation.</summary>
    public List<(ControlledThread Thread, CancellationTokenSource Source)> Cancelling { get; } = [];

    public List<VirtualTimer> Timers { get; } = [];

    /// <summary>Null if stores are seen at once.</summary>
    public StoreBuffers? Stores { get; } = options.StoreBuffers ? new StoreBuffers() : null;

    /// <summary>Runs the body on controlled threads until nobody can run.</summary>
    public void Run(Func<Task> body)
    {
        Active = this;
        Races = options.DataRaces ? new RaceDetector(this) : null;
        ControlledThread main = Create("main", () => RunMain(body), null);
        if (options.TimersFireAnyTime)
        {
            Create("time", MoveTimeAgain, null).IsBackground = true;
        }

        if (Stores is not null)
        {
            Create("store buffer", ShowStores, null).IsBackground = true;
        }

        _running = main;
        main.GiveTurn();
        int seen = -1;
        while (!_over.Wait(options.Patience))
        {
            if (seen == _steps)
            {
                Failure ??= new Failure(FailureKind.Hang, Hang(), null);
                break;
            }

            seen = _steps;
        }

        _isStopping = true;
        if (Failure?.Kind != FailureKind.Hang)
        {
            Unwind();
        }

        Active = null;
    }

    /// <summary>An await has gone on on a thread that is not controlled. It goes no further, and the message of the deadlock says it.</summary>
    public void CameFromElsewhere(string site) => _elsewhere = $"\n  that at {site} would go on now, on a thread that the explorer does not control: " +
        "it waits for a network, a file, a timer of another assembly or the like";

    /// <summary>Of a deadlock of awaits: one that has gone on on a thread that is not controlled, or does so within some time; null if there is none.</summary>
    public string? Elsewhere()
    {
        _ = Awaits.Count > 0 && _threads is [_] &&
            System.Threading.SpinWait.SpinUntil(() => _elsewhere is not null, TimeSpan.FromSeconds(Math.Min(2, options.Patience.TotalSeconds)));
        return _elsewhere;
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
                // Code that takes every exception and goes on: its thread is left behind.
                _unwound.Give();
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

        Count(me);
        Go(me, Pick(me));
        Trace.Add(new TraceLine(me.Id, me.Name, me.Site));
        if (me.CallDepth > 0)
        {
            Conflicts?.Enumerate(me);
        }
    }

    public void Yield(ControlledThread me)
    {
        ThrowIfStopping(me);
        Count(me);
        Trace.Add(new TraceLine(me.Id, me.Name, me.Site));
        _now += TicksOfYield;
        FireTimers();
        FindRunnable(me);
        me.YieldTo(_runnable);
        chooser.Yielded(me);
        Go(me, Pick(me));
    }

    public void Blocked(ControlledThread me)
    {
        Stores?.ShowAll();
        Count(me);
        Go(me, Pick(me));
        Trace.Add(new TraceLine(me.Id, me.Name, me.Site));
    }

    /// <summary>A controlled thread has ended. Passes the turn on.</summary>
    public void Ended(ControlledThread thread, Exception? error)
    {
        thread.IsDone = true;
        if (_isStopping)
        {
            _unwound.Give();
            return;
        }

        _threads.Remove(thread);
        Conflicts?.End(thread);
        Stores?.ShowAll();
        Races?.Release(thread, thread);
        Stepped(thread);
        if (error is not null)
        {
            Stop(new Failure(FailureKind.UnhandledException, $"{thread} ended with an exception that nobody takes: {error.Message}", error));
            return;
        }

        GiveTurn(Pick(null));
    }

    /// <summary>Ends the schedule with a failure, from a controlled thread that goes no further.</summary>
    public void Fail(FailureKind kind, string message, Exception? exception)
    {
        ControlledThread me = ControlledThread.Current!;
        Stop(new Failure(kind, message, exception));
        me.WaitForTurn();
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
            _isMainDone = _isDraining = true;
            return;
        }

        if (!_isStopping)
        {
            Exception error = task.Exception?.InnerException ?? new TaskCanceledException(task);
            Fail(FailureKind.Exception, $"{error.GetType().Name}: {error.Message}", error);
        }
    }

    private void Count(ControlledThread me)
    {
        if (++_steps > options.MaxSteps)
        {
            Fail(
                FailureKind.Livelock,
                $"The schedule has no end: more than {options.MaxSteps} steps (MaxSteps). The last thread was {me}, at {me.Site}.",
                null);
        }

        Stepped(me);
        Conflicts?.Site(me);
    }

    private void Stepped(ControlledThread thread)
    {
        foreach (ControlledThread other in _threads)
        {
            other.Stepped(thread);
        }
    }

    private void Go(ControlledThread me, ControlledThread? next)
    {
        if (next != me)
        {
            GiveTurn(next);
            me.WaitForTurn();
            ThrowIfStopping(me);
        }
    }

    private void GiveTurn(ControlledThread? next)
    {
        if (next is null)
        {
            NobodyCanRun();
            return;
        }

        _running = next;
        next.GiveTurn();
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
    }

    private ControlledThread? Pick(ControlledThread? me)
    {
        FireTimers();
        FindRunnable(me);
        if (_runnable.Count == 0)
        {
            if (_isDraining || !MoveTime())
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
        Compare(me, couldContinue);
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
        _over.Give();
    }

    /// <summary>Lets each thread that is still somewhere run into an exception, one after the other.</summary>
    private void Unwind()
    {
        foreach (ControlledThread thread in _threads)
        {
            if (thread.HasStarted && !thread.IsDone)
            {
                thread.GiveTurn();
                if (!_unwound.Wait(options.Patience))
                {
                    Failure ??= new Failure(FailureKind.Hang, $"{thread} did not end with its schedule in {Patience}; it was at {thread.Site}.", null);
                }
            }
        }
    }

    private string Patience => $"{options.Patience.TotalSeconds:0.#} seconds of real time";

    private string Hang() =>
        $"No point was reached in {Patience}. The thread that has the turn, {_running}, came last to {_running?.Site}. " +
        "What it called there or after that waits for something that is not controlled, or never ends.";
}
