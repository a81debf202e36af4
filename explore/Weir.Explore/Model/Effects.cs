namespace Weir.Explore.Model;

/// <summary>
/// What an operation does to what threads share. Rewritten code and the model call it before the operation itself. A search for data races
/// (<see cref="RaceDetector"/>) is told what happens before what, and a search that leaves out equal schedules (<see cref="Conflicts"/>) what the operation
/// reads, writes and observes.
/// </summary>
/// <remarks>
/// In four groups: operations that order threads (acquire, release), what calls of the platform read and write, what operations on one object or location read
/// and write, and values that the thread observes. Each method does nothing on a thread that is not controlled.
/// </remarks>
internal static class Effects
{
    private static readonly object Instruments = new();

    // Operations that order threads.

    /// <summary>What this thread has done happens before what those do that see that the task, or another object, has come to its end.</summary>
    public static void Release(object ended) => Of(out ControlledThread me)?.Release(me, ended);

    public static void Acquire(object? ended)
    {
        if (ended is not null && Of(out ControlledThread me) is { } execution)
        {
            execution.Races?.Acquire(me, ended);
            execution.Conflicts?.ReadObject(me, ended);
        }
    }

    /// <summary>An operation on an object of the model that several threads may use.</summary>
    public static void AcquireRelease(object used)
    {
        if (Of(out ControlledThread me) is { } execution)
        {
            execution.Races?.AcquireRelease(me, used);
            execution.Conflicts?.WriteObject(me, used);
        }
    }

    /// <summary>Before a task is completed. Tasks that the platform derives from it have no clock, and get the platform's.</summary>
    public static void CompleteSource(object source)
    {
        if (Of(out ControlledThread me) is { } execution)
        {
            // Laid over the generic one: both have their task as the only field.
            Task task = Unsafe.As<TaskCompletionSource>(source).Task;
            execution.Races?.AcquireRelease(me, task);
            execution.Races?.AcquireReleasePlatform(me);
            execution.Conflicts?.EndTask(me, task);
        }
    }

    /// <summary>What a value task is of is its first field, whatever its result is.</summary>
    public static void AcquireValueTask<TTask>(ref TTask task) => Acquire(Unsafe.As<TTask, object?>(ref task));

    /// <summary>Null if nobody orders. What is returned is called by whoever comes after what this thread has done.</summary>
    public static Action? Fork()
    {
        if (Of(out ControlledThread me) is not { } execution)
        {
            return null;
        }

        ulong past = me.Past;
        return execution.Races is { } races ? JoinOf(races.Fork(me))
            : execution.Conflicts is null ? null
            : (Action)(() => Observe(past));
    }

    /// <summary>A thread continues that has waited; what it has waited for is told on its own.</summary>
    public static void OrderWakeUp() => Of(out ControlledThread me)?.Races?.AcquireReleasePlatform(me);

    // Calls of the platform.

    /// <summary>A call without a clock of its own: it is in order with all such calls.</summary>
    public static void CallPlatform() => Of(out ControlledThread me)?.CallPlatform(me);

    /// <summary>A call that is in no order with others. It may read and write all that they do.</summary>
    public static void WritePlatform() => Known(out ControlledThread me)?.WritePlatform(me);

    /// <summary>A call that reads objects of the platform, and writes none that others see.</summary>
    public static void ReadPlatform() => Known(out ControlledThread me)?.ReadPlatform(me);

    /// <summary>A call that may read plain fields, too.</summary>
    public static void ReadEverything() => Known(out ControlledThread me)?.ReadEverything(me);

    /// <summary>A call that gives out references into objects of the platform.</summary>
    public static void ExposeReferences() => Known(out ControlledThread me)?.ExposeReferences(me);

    /// <summary>A call begins that may call the program under test. It has ended, or thrown, with <see cref="EndCallback"/>.</summary>
    public static void BeginCallback() => _ = ControlledThread.Current is { } me ? me.CallDepth++ : 0;

    public static void EndCallback()
    {
        if (ControlledThread.Current is { CallDepth: > 0 } me)
        {
            me.CallDepth--;
        }

        ReadPlatform();
    }

    public static void EndUnknownCallback()
    {
        EndCallback();
        WritePlatform();
    }

    // Operations on one object or location, in no order with others.

    /// <summary>An operation that changes this object of the platform alone.</summary>
    public static void Write(object? used) => Known(out ControlledThread me)?.WriteObject(me, used);
    public static void Read(object? used) => Known(out ControlledThread me)?.ReadObject(me, used);

    /// <summary>Before a task of the model is completed.</summary>
    public static void EndTask(Task task) => Known(out ControlledThread me)?.EndTask(me, task);

    /// <summary>A call of a structure of the platform, which lies here.</summary>
    public static void WriteAt<T>(ref T location) => Known(out ControlledThread me)?.Write(me, ref location, isThrough: true);

    /// <summary>A call of a structure of the platform that does not change it.</summary>
    public static void ReadAt<T>(ref T location) => Known(out ControlledThread me)?.Read(me, ref location, isThrough: true);

    /// <summary>A call that makes what a listener of metrics sees, or listens.</summary>
    public static void WriteInstruments() => Write(Instruments);

    /// <summary>A call that tells a listener of metrics.</summary>
    public static void ReadInstruments() => Read(Instruments);

    /// <summary>An operation whose effects cannot be told: from now on no states are taken for equal.</summary>
    public static void LoseTrack() => ControlledThread.Current?.Execution.Conflicts?.LoseTrack();

    // Values that others may change.

    /// <summary>This thread has observed a value.</summary>
    public static ulong Observe(ulong value) => ControlledThread.Current?.Execution.Observe(value) ?? value;

    public static bool Observe(bool value)
    {
        Observe(Conflicts.BitsOf(value));
        return value;
    }

    public static void ObserveToken(ref CancellationToken token) => Observe(token.IsCancellationRequested);
    public static void ObserveSource(CancellationTokenSource source) => Observe(source.IsCancellationRequested);

    private static Action JoinOf(VectorClock clock) => () => ControlledThread.Current?.Clock.Join(clock);

    private static Conflicts? Known(out ControlledThread me) => Of(out me)?.Conflicts;

    private static Execution? Of(out ControlledThread me)
    {
        me = ControlledThread.Current!;
        return me?.Execution;
    }
}
