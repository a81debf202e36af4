namespace Weir.Explore.Model;

/// <summary>Tells a search for data races what comes before what, and a search that leaves out equal schedules which operations conflict.</summary>
internal static class Order
{
    private static readonly object Instruments = new();

    /// <summary>What this thread has done comes before what those do that see that the task, or another object, has come to its end.</summary>
    public static void Release(object ended) => Of(out ControlledThread me)?.Release(me, ended);

    public static void Acquire(object? ended)
    {
        if (ended is not null && Of(out ControlledThread me) is { } execution)
        {
            execution.Races?.Acquire(me, ended);
            execution.Conflicts?.Look(me, ended);
        }
    }

    /// <summary>An operation of an object that several threads may use.</summary>
    public static void Use(object used)
    {
        if (Of(out ControlledThread me) is { } execution)
        {
            execution.Races?.Order(me, used);
            execution.Conflicts?.Use(me, used);
        }
    }

    /// <summary>Before a task is completed. Those that the platform derives from it have no clock, and get the platform's.</summary>
    public static void Complete(object source)
    {
        if (Of(out ControlledThread me) is { } execution)
        {
            // Laid over the generic one: both have their task as the only field.
            Task task = Unsafe.As<TaskCompletionSource>(source).Task;
            execution.Races?.Order(me, task);
            execution.Races?.OrderPlatform(me);
            execution.Conflicts?.EndTask(me, task);
        }
    }

    /// <summary>A call of the platform without a clock of its own.</summary>
    public static void Platform() => Of(out ControlledThread me)?.OrderPlatform(me);

    /// <summary>What a value task is of is its first field, whatever its result is.</summary>
    public static void OfValueTask<TTask>(ref TTask task) => Acquire(Unsafe.As<TTask, object?>(ref task));

    /// <summary>Before the task of an async method is completed.</summary>
    public static void OfBuilder<TBuilder>(ref TBuilder builder)
    {
        if (Of(out _) is { Races: not null } or { Conflicts: not null } && Builders.TaskOf(ref builder) is { } task)
        {
            Release(task);
        }
    }

    /// <summary>Null if nobody orders. What is returned is called by whoever comes after what this thread has done.</summary>
    public static Action? Fork()
    {
        if (Of(out ControlledThread me) is not { } execution)
        {
            return null;
        }

        ulong past = me.Past;
        return execution.Races is { } races ? ForkOf(races.Fork(me))
            : execution.Conflicts is null ? null
            : (Action)(() => Learn(past));
    }

    /// <summary>A call of the platform that is in no order with others. It may read and change all that they do.</summary>
    public static void Unordered() => Seen(out ControlledThread me)?.Unknown(me);

    /// <summary>One that reads objects of the platform, and changes none that others see.</summary>
    public static void Enumerate() => Seen(out ControlledThread me)?.Enumerate(me);

    /// <summary>One that may read plain fields, too.</summary>
    public static void All() => Seen(out ControlledThread me)?.All(me);

    /// <summary>References into objects of the platform are given out.</summary>
    public static void Alias() => Seen(out ControlledThread me)?.Alias(me);

    /// <summary>A call begins that may call the program under test; then one has ended, or thrown.</summary>
    public static void BeginCall() => _ = ControlledThread.Current is { } me ? me.CallDepth++ : 0;

    public static void EndCall()
    {
        if (ControlledThread.Current is { CallDepth: > 0 } me)
        {
            me.CallDepth--;
        }

        Enumerate();
    }

    public static void EndUnknownCall()
    {
        EndCall();
        Unordered();
    }

    /// <summary>A thread goes on that has waited for what is told apart from this.</summary>
    public static void Awake() => Of(out ControlledThread me)?.Races?.OrderPlatform(me);

    /// <summary>An operation of an object of the platform that is in no order with others, and changes it alone.</summary>
    public static void Change(object? used) => Seen(out ControlledThread me)?.Use(me, used);

    /// <summary>Before a task of the model is completed, in no order with others.</summary>
    public static void End(Task task) => Seen(out ControlledThread me)?.EndTask(me, task);

    /// <summary>One that reads an object.</summary>
    public static void Look(object? at) => Seen(out ControlledThread me)?.Look(me, at);

    /// <summary>A call of a structure of the platform, which lies here.</summary>
    public static void At<T>(ref T place) => Seen(out ControlledThread me)?.Write(me, ref place, isThrough: true);

    /// <summary>A call of a structure of the platform that does not change it.</summary>
    public static void See<T>(ref T place) => Seen(out ControlledThread me)?.Read(me, ref place, isThrough: true);

    /// <summary>What cannot be told.</summary>
    public static void Lose() => ControlledThread.Current?.Execution.Conflicts?.Lose();

    /// <summary>A value that others may change, and that this thread has seen.</summary>
    public static ulong Learn(ulong value) => ControlledThread.Current?.Execution.Learn(value) ?? value;

    public static bool Learn(bool value)
    {
        Learn(Conflicts.Number(value));
        return value;
    }

    public static void OfToken(ref CancellationToken token) => Learn(token.IsCancellationRequested);

    public static void OfSource(CancellationTokenSource source) => Learn(source.IsCancellationRequested);

    /// <summary>A call that makes what a listener sees, or listens.</summary>
    public static void UseInstruments() => Change(Instruments);

    /// <summary>One that tells a listener.</summary>
    public static void LookAtInstruments() => Look(Instruments);

    private static Action ForkOf(VectorClock clock) => () => ControlledThread.Current?.Clock.Join(clock);

    private static Conflicts? Seen(out ControlledThread me) => Of(out me)?.Conflicts;

    private static Execution? Of(out ControlledThread me)
    {
        me = ControlledThread.Current!;
        return me?.Execution;
    }
}
