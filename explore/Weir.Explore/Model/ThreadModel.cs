namespace Weir.Explore.Model;

[Replaces("System.Threading.Thread")]
internal sealed class ThreadModel
{
    private readonly Action<object?> _body;
    private ControlledThread? _thread;
    private bool _isBackground;

    public ThreadModel(ThreadStart start) => _body = _ => start();

    public ThreadModel(ThreadStart start, int maxStackSize)
        : this(start)
    {
    }

    public ThreadModel(ParameterizedThreadStart start) => _body = state => start(state);

    public ThreadModel(ParameterizedThreadStart start, int maxStackSize)
        : this(start)
    {
    }

    private ThreadModel(ControlledThread thread)
    {
        _thread = thread;
        _body = static _ => { };
        IsThreadPoolThread = thread.Name != "main";
    }

    public static ThreadModel CurrentThread => (ThreadModel)(Points.Me.Tag ??= new ThreadModel(Points.Me));

    public string? Name { get; set; }

    public bool IsBackground
    {
        get => _thread?.IsBackground ?? _isBackground;
        set
        {
            Effects.Write(this);
            _isBackground = value;
            _thread?.IsBackground = value;
        }
    }

    public bool IsThreadPoolThread { get; }

    public bool IsAlive
    {
        get
        {
            Effects.Read(this);
            return Effects.Observe(_thread is not null && !HasEnded(_thread));
        }
    }

    public ThreadPriority Priority { get; set; } = ThreadPriority.Normal;

    public int ManagedThreadId => _thread?.Execution.IdOf(_thread) ?? 0;

    public System.Threading.ThreadState ThreadState
    {
        get
        {
            Effects.ReadEverything();
            return _thread switch
            {
                null => System.Threading.ThreadState.Unstarted,
                { IsDone: true } => System.Threading.ThreadState.Stopped,
                { WaitsFor: not null } => System.Threading.ThreadState.WaitSleepJoin,
                _ => System.Threading.ThreadState.Running,
            };
        }
    }

    public static int GetCurrentProcessorId() => 0;

    public static void MemoryBarrier()
    {
        Points.Fence(Points.Me.Site);
        Effects.OrderWakeUp();
    }

    public static void Sleep(int millisecondsTimeout) => Sleep(TimeSpan.FromMilliseconds(millisecondsTimeout));

    public static void Sleep(TimeSpan timeout)
    {
        if (timeout == TimeSpan.Zero)
        {
            Points.Me.Yield();
        }
        else
        {
            Points.Me.Block("the end of a sleep", static () => false, timeout, orders: false);
        }
    }

    public static void SpinWait(int iterations) => Points.Me.Yield();

    public static bool Yield()
    {
        Points.Me.Yield();
        return true;
    }

    public void Start() => Start(null);
    public void Start(object? parameter) => Start(parameter, ExecutionContext.Capture());
    public void UnsafeStart() => Start(null, null);
    public void UnsafeStart(object? parameter) => Start(parameter, null);
    public void Join() => Join(Timeout.InfiniteTimeSpan);
    public bool Join(int millisecondsTimeout) => Join(TimeSpan.FromMilliseconds(millisecondsTimeout));

    public bool Join(TimeSpan timeout)
    {
        Effects.Read(this);
        ControlledThread thread = _thread ?? throw new ThreadStateException();
        _ = Points.Me.Block($"the end of {thread}", () => thread.IsDone, timeout, orders: false);
        return HasEnded(thread);
    }

    public void Interrupt()
    {
        Points.Me.Step();
        _thread?.Interrupt();
    }

    private void Start(object? parameter, ExecutionContext? context)
    {
        ControlledThread me = Points.Me;
        Effects.Write(this);
        if (_thread is not null)
        {
            throw new ThreadStateException();
        }

        _thread = me.Execution.Create(Name is null ? "thread" : $"thread '{Name}'", () => _body(parameter), context);
        _thread.Tag = this;
        _thread.IsBackground = _isBackground;
        me.Step(orders: false);
    }

    private static bool HasEnded(ControlledThread thread)
    {
        Effects.Acquire(thread.IsDone ? thread : null);
        return thread.IsDone;
    }
}
