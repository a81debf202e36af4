namespace Weir.Explore.Scheduling;

/// <summary>A thread, a work item of the pool or a timer's call of the program under test, which runs only when it has the turn.</summary>
internal sealed class ControlledThread(Execution execution, int id, string name, Action body, ExecutionContext? context)
{
    [ThreadStatic]
    private static ControlledThread? _current;

    private readonly List<ControlledThread> _yieldsTo = [];
    private Worker? _worker;
    private Func<bool>? _condition;
    private long _wakeAt = long.MaxValue;
    private bool _isInterruptible;
    private bool _isInterrupted;
    private nint _stackBase;

    /// <summary>The one that runs on the calling thread; null on a thread that no schedule controls.</summary>
    public static ControlledThread? Current => _current;

    public Execution Execution => execution;

    public int Id => id;

    public string Name => name;

    public bool IsBackground { get; set; }

    /// <summary>Where it is: the last point that it came to.</summary>
    public string Site { get; set; } = "its start";

    /// <summary>What it waits for, if it is blocked.</summary>
    public string? WaitsFor { get; private set; }

    public bool IsDone { get; set; }

    public bool HasStarted => _worker is not null;

    public int AtomicDepth { get; set; }

    public int Stops { get; set; }

    public bool IsYielding => _yieldsTo.Count > 0;

    public IReadOnlyList<ControlledThread> YieldsTo => _yieldsTo;

    /// <summary>When it goes on although its condition does not hold.</summary>
    public long WakeAt => _condition is null ? long.MaxValue : _wakeAt;

    public object? Tag { get; set; }

    /// <summary>What comes before what it does now.</summary>
    public VectorClock Clock { get; } = new();

    /// <summary>Who it is, whatever its number: what began it, and when.</summary>
    public ulong Identity { get; set; }

    /// <summary>What it has done and seen.</summary>
    public ulong Past { get; set; }

    /// <summary>In how many calls of the platform it is that call the program under test.</summary>
    public int CallDepth { get; set; }

    /// <summary>A task of the scheduler that it runs. It ends inside a call of the platform, before what goes on after it there.</summary>
    public Task? Runs { get; set; }

    public override string ToString() => $"{Id} {Name}";

    public bool CanRun(long now) => _condition is null || now >= _wakeAt || (_isInterrupted && _isInterruptible) || _condition();

    /// <summary>Others that can run come before it, until each of them made a step.</summary>
    public void YieldTo(List<ControlledThread> others) => _yieldsTo.AddRange(others.Where(o => o != this));

    public void Stepped(ControlledThread other) => _yieldsTo.Remove(other);

    public bool YieldsToOneOf(List<ControlledThread> runnable) => _yieldsTo.Exists(runnable.Contains);

    public void Interrupt() => _isInterrupted = true;

    /// <summary>A point without a condition: whoever is chosen goes on.</summary>
    public void Step(string site, bool orders = true)
    {
        Site = site;
        Step(orders);
    }

    /// <summary>Whether an address is one of a variable of this thread, which runs.</summary>
    public unsafe bool IsOnStack(nint address)
    {
        byte here;
        return address < _stackBase && address > (nint)(&here);
    }

    /// <summary>A point.</summary>
    /// <param name="orders">Whether it comes before each such point that follows, on whatever thread.</param>
    public void Step(bool orders = true)
    {
        if (AtomicDepth == 0)
        {
            Execution.Step(this);
            Execution.Stores?.ShowAll();
            if (orders)
            {
                Execution.OrderPlatform(this);
            }
        }
    }

    /// <summary>A point of an operation on one object, or on what is told apart from it.</summary>
    public void StepOn(object? used)
    {
        if (AtomicDepth == 0)
        {
            Step(orders: false);
            Execution.Races?.OrderPlatform(this);
            Execution.Conflicts?.Use(this, used);
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

    public void Yield()
    {
        if (AtomicDepth == 0)
        {
            Execution.Stores?.Show(this);
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
            Execution.Learn(Conflicts.Number(isThere));
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
        Execution.Learn(Conflicts.Number(holds));
        if (orders)
        {
            Execution.Conflicts?.Unknown(this);
        }

        TakeInterrupt(!holds && isInterruptible);
        return holds;
    }

    public void GiveTurn() => (_worker ??= Worker.For(this)).Turn.Give();

    public void WaitForTurn() => _worker!.Turn.Wait();

    /// <summary>Runs it on the worker that has been given its turn. What is returned passes the turn on.</summary>
    /// <param name="clean">A context without values, which undoes what the code inside sets, for a thread that has none of its own.</param>
    public Action RunToEnd(ExecutionContext clean)
    {
        _current = this;
        Exception? error = null;
        byte here;
        unsafe
        {
            _stackBase = (nint)(&here);
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
            Execution.OrderPlatform(this);
            throw new ThreadInterruptedException();
        }
    }
}
