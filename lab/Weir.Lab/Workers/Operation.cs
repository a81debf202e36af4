using System.Reflection;

namespace Weir.Lab.Workers;

/// <summary>
/// The code that a worker repeats. An operation is created from a delegate of any of the usual shapes. Its result is consumed, so that the compiler cannot
/// remove the work.
/// </summary>
/// <remarks>
/// A synchronous operation gives each worker a thread of its own. An asynchronous one makes each worker a loop on the thread pool that
/// holds no thread while it waits.
/// </remarks>
public abstract class Operation
{
    private protected Operation(bool isAsync) => IsAsync = isAsync;

    /// <summary>Whether the operation is awaited.</summary>
    public bool IsAsync { get; }

    /// <summary>A synchronous operation without a result.</summary>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation Of(Action call) => new ActionOperation(call);

    /// <summary>A synchronous operation with a result.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation Of<T>(Func<T> call) => new FuncOperation<T>(call);

    /// <summary>An asynchronous operation without a result.</summary>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    [OverloadResolutionPriority(1)]
    public static Operation OfAsync(Func<Task> call) => new AsyncOperation<TaskCall>(new TaskCall(call));

    /// <summary>An asynchronous operation without a result.</summary>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation OfAsync(Func<ValueTask> call) => new AsyncOperation<ValueTaskCall>(new ValueTaskCall(call));

    /// <summary>An asynchronous operation with a result.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    [OverloadResolutionPriority(1)]
    public static Operation OfAsync<T>(Func<Task<T>> call) => new AsyncOperation<TaskCall<T>, T>(new TaskCall<T>(call));

    /// <summary>An asynchronous operation with a result.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation OfAsync<T>(Func<ValueTask<T>> call) => new AsyncOperation<ValueTaskCall<T>, T>(new ValueTaskCall<T>(call));

    /// <summary>An operation that does nothing, and is called in the same way.</summary>
    internal abstract Operation Empty();

    /// <summary>Runs the worker's loop on this thread until it is told to stop. Synchronous operations only.</summary>
    internal virtual void Loop(WorkerSlot slot) => throw new NotSupportedException("The operation is asynchronous.");

    /// <summary>Runs the worker's loop until it is told to stop. Asynchronous operations only.</summary>
    internal virtual Task LoopAsync(WorkerSlot slot) => throw new NotSupportedException("The operation is synchronous.");
}

/// <summary>The loop of a synchronous worker.</summary>
/// <remarks>
/// The operations are called from <see cref="Repeat"/>, which is itself called all the time: a loop in a method that is called once would stay for ever in
/// the code that replaces it while it runs, which is a fifth slower. It is compiled for good at once, and not by what was called before: the compiler would
/// put the body of the one delegate that it has seen into the loop, and whether an operation or an empty one is called would make a difference of its own.
/// </remarks>
internal abstract class SyncOperation() : Operation(isAsync: false)
{
    internal sealed override void Loop(WorkerSlot slot)
    {
        int count;
        while ((count = slot.IsPaced ? slot.NextStart() : slot.NextOfThread()) > 0)
        {
            int done = 0;
            try
            {
                if (!slot.Time)
                {
                    Repeat(count, ref done);
                    slot.Done(count);
                    continue;
                }

                // Of a batch of short operations only the last is timed.
                long before = slot.Mark;
                if (count > 1)
                {
                    Repeat(count - 1, ref done);
                    before = Stopwatch.GetTimestamp();
                }

                Repeat(1, ref done);
                slot.Done(count, before, Stopwatch.GetTimestamp());
            }
            catch (Exception error)
            {
                if (!slot.Failed(error, done))
                {
                    return;
                }
            }
        }
    }

    /// <summary>Calls the operation a number of times.</summary>
    /// <param name="count">How many times.</param>
    /// <param name="done">Grows by how many were completed, also when one of them throws.</param>
    private protected abstract void Repeat(int count, ref int done);
}

/// <summary>Calls an <see cref="Action"/>.</summary>
internal sealed class ActionOperation(Action call) : SyncOperation
{
    internal override Operation Empty() => new ActionOperation(call.Target is null ? EmptyCalls.Nothing : static () => { });

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private protected override void Repeat(int count, ref int done)
    {
        Action action = call;
        int i = 0;
        try
        {
            for (; i < count; i++)
            {
                action();
            }
        }
        finally
        {
            done += i;
        }
    }
}

/// <summary>Calls a <see cref="Func{TResult}"/> and consumes what the last call returns.</summary>
/// <remarks>
/// The compiler does not look into the delegate, so each result is made, whoever takes it. A call for each result would cost more in the empty operation's
/// loop than in one that waits for memory, and too much would be subtracted.
/// </remarks>
internal sealed class FuncOperation<T>(Func<T> call) : SyncOperation
{
    internal override Operation Empty() => new FuncOperation<T>(call.Target is null ? EmptyCalls.Nothing<T> : static () => default!);

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private protected override void Repeat(int count, ref int done)
    {
        Func<T> func = call;
        T last = default!;
        int i = 0;
        try
        {
            for (; i < count; i++)
            {
                last = func();
            }

            Sink.Consume(last);
        }
        finally
        {
            done += i;
        }
    }
}

/// <summary>The loop of an asynchronous worker whose operation has no result.</summary>
/// <remarks>
/// It awaits the operation itself: another method between them would cost a state machine per operation, which would be counted as the operation's.
/// </remarks>
internal sealed class AsyncOperation<TCall>(TCall call) : Operation(isAsync: true)
    where TCall : struct, IAsyncCall
{
    internal override Operation Empty() => call.Empty();

    internal override async Task LoopAsync(WorkerSlot slot)
    {
        while (true)
        {
            // A loop whose operations never suspend would keep its pool thread, and the others from starting.
            if (slot.MustYield)
            {
                await Task.Yield();
                slot.HasYielded();
            }

            if (slot.IsPaced)
            {
                await slot.StartIsDueAsync().ConfigureAwait(false);
            }

            int count = slot.IsPaced ? slot.Take() : slot.Next();
            if (count == 0)
            {
                return;
            }

            int done = 0;
            try
            {
                long before = slot.Mark;
                for (; done < count - 1; done++)
                {
                    await call.StartAsync().ConfigureAwait(false);
                }

                if (count > 1)
                {
                    before = Stopwatch.GetTimestamp();
                }

                await call.StartAsync().ConfigureAwait(false);
                slot.Done(count, before, Stopwatch.GetTimestamp());
            }
            catch (Exception error)
            {
                if (!slot.Failed(error, done))
                {
                    return;
                }
            }
        }
    }
}

/// <summary>The loop of an asynchronous worker whose operation has a result, which is consumed.</summary>
internal sealed class AsyncOperation<TCall, T>(TCall call) : Operation(isAsync: true)
    where TCall : struct, IAsyncCall<T>
{
    internal override Operation Empty() => call.Empty();

    internal override async Task LoopAsync(WorkerSlot slot)
    {
        while (true)
        {
            if (slot.MustYield)
            {
                await Task.Yield();
                slot.HasYielded();
            }

            if (slot.IsPaced)
            {
                await slot.StartIsDueAsync().ConfigureAwait(false);
            }

            int count = slot.IsPaced ? slot.Take() : slot.Next();
            if (count == 0)
            {
                return;
            }

            int done = 0;
            try
            {
                long before = slot.Mark;
                for (; done < count - 1; done++)
                {
                    call.Take(await call.StartAsync().ConfigureAwait(false));
                }

                if (count > 1)
                {
                    before = Stopwatch.GetTimestamp();
                }

                call.Take(await call.StartAsync().ConfigureAwait(false));
                slot.Done(count, before, Stopwatch.GetTimestamp());
            }
            catch (Exception error)
            {
                if (!slot.Failed(error, done))
                {
                    return;
                }
            }
        }
    }
}

/// <summary>Starts an operation without a result. A struct, so that the loop is compiled for it.</summary>
internal interface IAsyncCall
{
    ValueTask StartAsync();

    Operation Empty();
}

/// <summary>Starts an operation with a result.</summary>
internal interface IAsyncCall<T>
{
    ValueTask<T> StartAsync();

    /// <summary>Takes what the operation came to. What it throws is the operation's failure.</summary>
    void Take(T result);

    Operation Empty();
}

internal readonly struct TaskCall(Func<Task> call) : IAsyncCall
{
    public ValueTask StartAsync() => new(call());

    public Operation Empty() => Operation.OfAsync(static () => Task.CompletedTask);
}

internal readonly struct ValueTaskCall(Func<ValueTask> call) : IAsyncCall
{
    public ValueTask StartAsync() => call();

    public Operation Empty() => Operation.OfAsync(static () => default(ValueTask));
}

internal readonly struct TaskCall<T>(Func<Task<T>> call) : IAsyncCall<T>
{
    public ValueTask<T> StartAsync() => new(call());

    public void Take(T result) => Sink.Consume(result);

    public Operation Empty()
    {
        Task<T> done = Task.FromResult<T>(default!);
        return Operation.OfAsync(() => done);
    }
}

internal readonly struct ValueTaskCall<T>(Func<ValueTask<T>> call) : IAsyncCall<T>
{
    public ValueTask<T> StartAsync() => call();

    public void Take(T result) => Sink.Consume(result);

    public Operation Empty() => Operation.OfAsync(static () => default(ValueTask<T>));
}

/// <summary>Operations of delegates whose type is known only at run time.</summary>
internal static class DelegateOperations
{
    /// <summary>The operation that calls an <see cref="Action"/> or a <see cref="Func{TResult}"/>, and awaits what can be awaited.</summary>
    public static Operation Of(Delegate call)
    {
        if (call is Action action)
        {
            return Operation.Of(action);
        }

        // Not by the delegate: one that returns a task with a result is also one that returns a task.
        Type returned = call.GetType().GenericTypeArguments[0];
        if (returned == typeof(Task))
        {
            return Operation.OfAsync((Func<Task>)call);
        }

        if (returned == typeof(ValueTask))
        {
            return Operation.OfAsync((Func<ValueTask>)call);
        }

        Type? definition = returned.IsGenericType ? returned.GetGenericTypeDefinition() : null;
        string name = definition == typeof(Task<>) ? nameof(OfTask) : definition == typeof(ValueTask<>) ? nameof(OfValueTask) : nameof(OfResult);
        Type result = name == nameof(OfResult) ? returned : returned.GenericTypeArguments[0];
        return (Operation)typeof(DelegateOperations).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic)!
            .MakeGenericMethod(result).Invoke(null, [call])!;
    }

    private static Operation OfTask<T>(Func<Task<T>> call) => Operation.OfAsync(call);

    private static Operation OfValueTask<T>(Func<ValueTask<T>> call) => Operation.OfAsync(call);

    private static Operation OfResult<T>(Func<T> call) => Operation.Of(call);
}

/// <summary>Static methods that do nothing: a delegate of one is called in another way than that of an instance's method, which a lambda is too.</summary>
internal static class EmptyCalls
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Nothing()
    {
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Nothing<T>() => default!;
}
