using System.Reflection;
using System.Threading.Tasks.Sources;

namespace Weir.Explore.Model;

[Replaces("System.Threading.Tasks.Task")]
[Replaces("System.Threading.Tasks.Task`1")]
[Replaces("System.Threading.Tasks.TaskExtensions")]
internal static class Tasks
{
    public static Task Run(Action action) => Run(action, CancellationToken.None);

    public static Task Run(Action action, CancellationToken cancellationToken) => RunCore(
        () =>
        {
            action();
            return false;
        },
        cancellationToken);

    public static Task<T> Run<T>(Func<T> function) => RunCore(function, CancellationToken.None);
    public static Task<T> Run<T>(Func<T> function, CancellationToken cancellationToken) => RunCore(function, cancellationToken);
    public static Task Run(Func<Task?> function) => Run(function, CancellationToken.None);
    public static Task Run(Func<Task?> function, CancellationToken cancellationToken) => Follow(RunCore(function, cancellationToken));
    public static Task<T> Run<T>(Func<Task<T>?> function) => Run(function, CancellationToken.None);
    public static Task<T> Run<T>(Func<Task<T>?> function, CancellationToken cancellationToken) => Follow(RunCore(function, cancellationToken));
    public static Task Delay(int millisecondsDelay) => Delay(millisecondsDelay, CancellationToken.None);
    public static Task Delay(int millisecondsDelay, CancellationToken cancellationToken) =>
        Task.Delay(TimeSpan.FromMilliseconds(millisecondsDelay), Time.Provider, cancellationToken);
    public static Task Delay(TimeSpan delay) => Task.Delay(delay, Time.Provider);
    public static Task Delay(TimeSpan delay, CancellationToken cancellationToken) => Task.Delay(delay, Time.Provider, cancellationToken);
    public static void Start(Task task) => task.Start(PoolScheduler.Instance);
    public static void RunSynchronously(Task task) => task.RunSynchronously(PoolScheduler.Instance);
    public static void Wait(Task task) => _ = Wait(task, Timeout.InfiniteTimeSpan, CancellationToken.None);
    public static void Wait(Task task, CancellationToken cancellationToken) => _ = Wait(task, Timeout.InfiniteTimeSpan, cancellationToken);
    public static bool Wait(Task task, int millisecondsTimeout) => Wait(task, Time.Limit(millisecondsTimeout), CancellationToken.None);
    public static bool Wait(Task task, int millisecondsTimeout, CancellationToken cancellationToken) =>
        Wait(task, Time.Limit(millisecondsTimeout), cancellationToken);
    public static bool Wait(Task task, TimeSpan timeout) => Wait(task, timeout, CancellationToken.None);

    // A token that is cancelled does not matter to who does not wait at all. What an ended task throws, the platform says.
    public static bool Wait(Task task, TimeSpan timeout, CancellationToken cancellationToken) =>
        Waits.For(task, Time.Limit(timeout), timeout == TimeSpan.Zero ? CancellationToken.None : cancellationToken) &&
            task.Wait(Timeout.Infinite, cancellationToken);

    public static void WaitAll(params Task[] tasks) => _ = WaitAll(tasks, Timeout.InfiniteTimeSpan, CancellationToken.None);
    public static void WaitAll(params ReadOnlySpan<Task> tasks) => WaitAll(tasks.ToArray());
    public static void WaitAll(Task[] tasks, CancellationToken cancellationToken) => _ = WaitAll(tasks, Timeout.InfiniteTimeSpan, cancellationToken);
    public static void WaitAll(IEnumerable<Task> tasks, CancellationToken cancellationToken) =>
        _ = WaitAll([.. tasks], Timeout.InfiniteTimeSpan, cancellationToken);
    public static bool WaitAll(Task[] tasks, TimeSpan timeout) => WaitAll(tasks, timeout, CancellationToken.None);
    public static bool WaitAll(Task[] tasks, int millisecondsTimeout) => WaitAll(tasks, Time.Limit(millisecondsTimeout), CancellationToken.None);
    public static bool WaitAll(Task[] tasks, int millisecondsTimeout, CancellationToken cancellationToken) =>
        WaitAll(tasks, Time.Limit(millisecondsTimeout), cancellationToken);
    public static int WaitAny(params Task[] tasks) => WaitAny(tasks, Timeout.InfiniteTimeSpan, CancellationToken.None);
    public static int WaitAny(Task[] tasks, CancellationToken cancellationToken) => WaitAny(tasks, Timeout.InfiniteTimeSpan, cancellationToken);
    public static int WaitAny(Task[] tasks, TimeSpan timeout) => WaitAny(tasks, timeout, CancellationToken.None);
    public static int WaitAny(Task[] tasks, int millisecondsTimeout) => WaitAny(tasks, Time.Limit(millisecondsTimeout), CancellationToken.None);
    public static int WaitAny(Task[] tasks, int millisecondsTimeout, CancellationToken cancellationToken) =>
        WaitAny(tasks, Time.Limit(millisecondsTimeout), cancellationToken);

#pragma warning disable IDE1006, SA1300 // The names of the properties' methods.
    public static T get_Result<T>(Task<T> task)
    {
        Waits.For(task);
        return task.Result;
    }
#pragma warning restore IDE1006, SA1300

    public static Task WhenAll(params Task[] tasks) => All([.. tasks], static t => Task.WhenAll(t));
    public static Task WhenAll(params ReadOnlySpan<Task> tasks) => All(tasks.ToArray(), static t => Task.WhenAll(t));
    public static Task WhenAll(IEnumerable<Task> tasks) => All([.. tasks], static t => Task.WhenAll(t));
    public static Task<T[]> WhenAll<T>(params Task<T>[] tasks) => AllOf<T>([.. tasks]);
    public static Task<T[]> WhenAll<T>(params ReadOnlySpan<Task<T>> tasks) => AllOf(tasks.ToArray());
    public static Task<T[]> WhenAll<T>(IEnumerable<Task<T>> tasks) => AllOf<T>([.. tasks]);
    public static Task<Task> WhenAny(params Task[] tasks) => Any<Task>([.. tasks]);
    public static Task<Task> WhenAny(params ReadOnlySpan<Task> tasks) => Any(tasks.ToArray());
    public static Task<Task> WhenAny(Task task1, Task task2) => Any<Task>([task1, task2]);
    public static Task<Task> WhenAny(IEnumerable<Task> tasks) => Any<Task>([.. tasks]);
    public static Task<Task<T>> WhenAny<T>(params Task<T>[] tasks) => Any<Task<T>>([.. tasks]);
    public static Task<Task<T>> WhenAny<T>(params ReadOnlySpan<Task<T>> tasks) => Any(tasks.ToArray());
    public static Task<Task<T>> WhenAny<T>(Task<T> task1, Task<T> task2) => Any<Task<T>>([task1, task2]);
    public static Task<Task<T>> WhenAny<T>(IEnumerable<Task<T>> tasks) => Any<Task<T>>([.. tasks]);
    public static Task WaitAsync(Task task, CancellationToken cancellationToken) => WaitAsync(task, Timeout.InfiniteTimeSpan, cancellationToken);
    public static Task WaitAsync(Task task, TimeSpan timeout) => WaitAsync(task, timeout, CancellationToken.None);
    public static Task WaitAsync(Task task, TimeSpan timeout, CancellationToken cancellationToken) =>
        WaitAsync(task, timeout, Time.Provider, cancellationToken);
    public static Task WaitAsync(Task task, TimeSpan timeout, TimeProvider timeProvider) =>
        WaitAsync(task, timeout, timeProvider, CancellationToken.None);

    public static Task WaitAsync(Task task, TimeSpan timeout, TimeProvider timeProvider, CancellationToken cancellationToken)
    {
        TaskCompletionSource ended = new();
        Limit(task, ended.Task, timeout, timeProvider, cancellationToken, () => Set(ended, task), e => ended.TrySetException(e), t => ended.TrySetCanceled(t));
        return ended.Task;
    }

    public static Task<T> WaitAsync<T>(Task<T> task, CancellationToken cancellationToken) => WaitAsync(task, Timeout.InfiniteTimeSpan, cancellationToken);
    public static Task<T> WaitAsync<T>(Task<T> task, TimeSpan timeout) => WaitAsync(task, timeout, CancellationToken.None);
    public static Task<T> WaitAsync<T>(Task<T> task, TimeSpan timeout, CancellationToken cancellationToken) =>
        WaitAsync(task, timeout, Time.Provider, cancellationToken);
    public static Task<T> WaitAsync<T>(Task<T> task, TimeSpan timeout, TimeProvider timeProvider) =>
        WaitAsync(task, timeout, timeProvider, CancellationToken.None);

    public static Task<T> WaitAsync<T>(Task<T> task, TimeSpan timeout, TimeProvider timeProvider, CancellationToken cancellationToken)
    {
        TaskCompletionSource<T> ended = new();
        Limit(task, ended.Task, timeout, timeProvider, cancellationToken, () => Set(ended, task), e => ended.TrySetException(e), t => ended.TrySetCanceled(t));
        return ended.Task;
    }

    private static void Limit(
        Task task, Task ended, TimeSpan timeout, TimeProvider provider, CancellationToken token, Action end, Action<Exception> fail,
        Action<CancellationToken> cancel)
    {
        Effects.CallPlatform();
        Effects.Read(task);
        if (task.IsCompleted)
        {
            end();
            return;
        }

        ITimer? timer = timeout < TimeSpan.Zero
            ? null
            : provider.CreateTimer(_ => GiveUp(() => fail(new TimeoutException())), null, timeout, Timeout.InfiniteTimeSpan);
        CancellationTokenRegistration registration = token.UnsafeRegister((_, cancelled) => GiveUp(() => cancel(cancelled)), null);
        Registrars.On(
            task,
            () =>
            {
                timer?.Dispose();
                registration.Unregister();
                end();
            },
            capture: false);

        void GiveUp(Action how)
        {
            Effects.Release(ended);
            how();
        }
    }

    private static Task<T> RunCore<T>(Func<T> function, CancellationToken token)
    {
        Effects.ObserveToken(ref token);
        if (token.IsCancellationRequested)
        {
            return Task.FromCanceled<T>(token);
        }

        TaskCompletionSource<T> ended = new();
        _ = Pool.Queue(
            () =>
            {
                Effects.ObserveToken(ref token);
                if (token.IsCancellationRequested)
                {
                    Effects.CallPlatform();
                    Effects.EndTask(ended.Task);
                    ended.TrySetCanceled(token);
                    return;
                }

                T result;
                try
                {
                    result = function();
                }
                catch (OperationCanceledException cancelled) when (token.IsCancellationRequested && cancelled.CancellationToken == token)
                {
                    Effects.Release(ended.Task);
                    ended.TrySetCanceled(token);
                    return;
                }
                catch (Exception error) when (error is not StopException)
                {
                    ControlledThread.Current!.Execution.Failed(ended.Task);
                    Effects.Release(ended.Task);
                    ended.TrySetException(error);
                    return;
                }

                Points.Me.Step("the end of a task", orders: false);
                Effects.Release(ended.Task);
                ended.TrySetResult(result);
            },
            task: ended.Task);
        return ended.Task;
    }

    private static bool WaitAll(Task[] tasks, TimeSpan timeout, CancellationToken token)
    {
        timeout = Time.Limit(timeout);
        tasks = Copy(tasks);
        ControlledThread me = Points.Me;
        me.Step(orders: false);
        me.Execution.RunInPlace(me, timeout < TimeSpan.Zero && !token.CanBeCanceled ? tasks : []);
        bool areThere = Array.TrueForAll(tasks, static t => t.IsCompleted) ||
            me.Block($"{tasks.Length} tasks", () => token.IsCancellationRequested || Array.TrueForAll(tasks, static t => t.IsCompleted), timeout);
        Array.ForEach(tasks, Effects.Acquire);
        if (areThere && !Array.TrueForAll(tasks, static t => t.IsCompleted))
        {
            token.ThrowIfCancellationRequested();
        }

        return areThere && Task.WaitAll(tasks, Timeout.Infinite, token);
    }

    private static int WaitAny(Task[] tasks, TimeSpan timeout, CancellationToken token)
    {
        timeout = Time.Limit(timeout);
        token.ThrowIfCancellationRequested();
        if (tasks.Length == 0)
        {
            return -1;
        }

        Task<Task> first = Any(tasks);
        return Waits.For(first, timeout, token) ? Array.IndexOf(tasks, first.Result) : -1;
    }

    public static Task Unwrap(Task<Task?> outer) => !HasEnded(outer) || !outer.IsCompletedSuccessfully ? Follow(outer)
        : outer.Result ?? Task.FromCanceled(new CancellationToken(canceled: true));
    public static Task<T> Unwrap<T>(Task<Task<T>?> outer) => !HasEnded(outer) || !outer.IsCompletedSuccessfully ? Follow(outer)
        : outer.Result ?? Task.FromCanceled<T>(new CancellationToken(canceled: true));

    private static Task Follow(Task<Task?> outer)
    {
        TaskCompletionSource ended = new();
        OnEnd(outer, () => Then(outer, () => Set(ended, outer.Result!), () => SetFailed(ended.Task, outer, e => ended.SetException(e), () => ended.SetCanceled())));
        return ended.Task;
    }

    private static Task<T> Follow<T>(Task<Task<T>?> outer)
    {
        TaskCompletionSource<T> ended = new();
        OnEnd(outer, () => Then(outer, () => Set(ended, outer.Result!), () => SetFailed(ended.Task, outer, e => ended.SetException(e), () => ended.SetCanceled())));
        return ended.Task;
    }

    private static void Then<TInner>(Task<TInner> outer, Action inner, Action failed)
        where TInner : Task?
    {
        if (!outer.IsCompletedSuccessfully || outer.Result is null)
        {
            failed();
        }
        else
        {
            OnEnd(outer.Result, inner);
        }
    }

    private static void OnEnd(Task task, Action then)
    {
        if (HasEnded(task))
        {
            then();
        }
        else
        {
            Registrars.On(task, then, capture: false);
        }
    }

    internal static bool HasEnded(Task task)
    {
        Effects.Read(task);
        return task.IsCompleted;
    }

    private static void Set(TaskCompletionSource ended, Task task)
    {
        Follows(ended.Task, task);
        ended.TrySetFromTask(task);
    }

    private static void Set<T>(TaskCompletionSource<T> ended, Task<T> task)
    {
        Follows(ended.Task, task);
        ended.TrySetFromTask(task);
    }

    /// <summary>A task without an inner one ends as the outer one has, and as cancelled if that has ended well.</summary>
    private static void SetFailed(Task ended, Task outer, Action<IEnumerable<Exception>> fail, Action cancel)
    {
        Follows(ended, outer);
        if (outer.Exception is { } error)
        {
            fail(error.InnerExceptions);
        }
        else
        {
            cancel();
        }
    }

    private static void Follows(Task ended, Task task)
    {
        Effects.Acquire(task);
        Effects.Release(ended);
        if (task.IsFaulted)
        {
            ControlledThread.Current?.Execution.Failed(ended);
        }
    }

    internal static TTask[] Copy<TTask>(IEnumerable<TTask> tasks)
        where TTask : Task
    {
        TTask[] copy = [.. tasks];
        return Array.Exists(copy, static t => t is null)
            ? throw new ArgumentException("The tasks argument included a null value.", nameof(tasks))
            : copy;
    }

    private static Task All(Task[] tasks, Func<Task[], Task> all)
    {
        TaskCompletionSource ended = new();
        Count(tasks, () => Set(ended, all(tasks)));
        return ended.Task;
    }

    private static Task<T[]> AllOf<T>(Task<T>[] tasks)
    {
        TaskCompletionSource<T[]> ended = new();
        Count(tasks, () => Set(ended, Task.WhenAll(tasks)));
        return ended.Task;
    }

    private static void Count(Task[] tasks, Action end)
    {
        Task[] open = Array.FindAll(Copy(tasks), static t => !HasEnded(t));
        int left = open.Length;
        if (left == 0)
        {
            End();
            return;
        }

        foreach (Task task in open)
        {
            Registrars.On(
                task,
                () =>
                {
                    Effects.Write(open);
                    if (--left == 0)
                    {
                        End();
                    }
                },
                capture: false);
        }

        void End()
        {
            Array.ForEach(tasks, Effects.Acquire);
            end();
        }
    }

    private static Task<TTask> Any<TTask>(TTask[] tasks)
        where TTask : Task
    {
        if (Copy(tasks).Length == 0)
        {
            throw new ArgumentException("The tasks argument contains no tasks.", nameof(tasks));
        }

        if (Array.Find(tasks, HasEnded) is { } first)
        {
            Effects.Acquire(first);
            return Task.FromResult(first);
        }

        TaskCompletionSource<TTask> ended = new();
        foreach (TTask task in tasks)
        {
            Registrars.On(task, () => End(task), capture: false);
        }

        return ended.Task;

        void End(TTask task)
        {
            Effects.Release(ended.Task);
            ended.TrySetResult(task);
        }
    }
}

/// <summary>Awaits of async methods. An awaiter of the platform gets a <see cref="ControlledAwaiter{TAwaiter}"/> before it.</summary>
[Replaces("System.Runtime.CompilerServices.AsyncTaskMethodBuilder")]
[Replaces("System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1")]
[Replaces("System.Runtime.CompilerServices.AsyncVoidMethodBuilder")]
internal static class Builders
{
    private delegate TTask ResultCall<TBuilder, TTask>(ref TBuilder builder);

    private delegate void AwaitCall<TBuilder, TAwaiter, TMachine>(ref TBuilder builder, ref TAwaiter awaiter, ref TMachine machine);

    /// <summary>In place of <c>AwaitOnCompleted</c> and <c>AwaitUnsafeOnCompleted</c> of any builder of the platform.</summary>
    public static void Await<TBuilder, TAwaiter, TMachine>(ref TBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            Awaits<TBuilder, TAwaiter, TMachine>.Call(ref builder, ref awaiter, ref machine);
        }
        else
        {
            ControlledAwaiter<TAwaiter> controlled = new(awaiter);
            Awaits<TBuilder, ControlledAwaiter<TAwaiter>, TMachine>.Call(ref builder, ref controlled, ref machine);
        }

        if (ControlledThread.Current is { Execution.Races: { } races } me && me.IsOnStack(ref machine) && TaskOf(ref builder) is { } box)
        {
            // The first await: the method's locals have just come into an object, which may be one of a pool.
            races.Renew(box);
        }
    }

    public static void SetException(ref AsyncTaskMethodBuilder builder, Exception exception)
    {
        ControlledThread.Current?.Execution.Failed(builder.Task);
        Effects.Release(builder.Task);
        builder.SetException(exception);
    }

    public static void SetException<TResult>(ref AsyncTaskMethodBuilder<TResult> builder, Exception exception)
    {
        ControlledThread.Current?.Execution.Failed(builder.Task);
        Effects.Release(builder.Task);
        builder.SetException(exception);
    }

    public static void SetException(ref AsyncVoidMethodBuilder builder, Exception exception)
    {
        if (exception is not StopException)
        {
            Points.NobodyTakes(exception);
        }
    }

    /// <summary>Before the task of an async method is completed.</summary>
    public static void ReleaseTask<TBuilder>(ref TBuilder builder)
    {
        if (ControlledThread.Current is { Execution: { Races: not null } or { Conflicts: not null } } && TaskOf(ref builder) is { } task)
        {
            Effects.Release(task);
        }
    }

    /// <summary>What the builder completes: a task, or another source of a value task. Null if it has none.</summary>
    private static object? TaskOf<TBuilder>(ref TBuilder builder) => Results<TBuilder>.Find?.Invoke(ref builder);

    private static class Results<TBuilder>
    {
        public static readonly ResultCall<TBuilder, object?>? Find = Of(typeof(TBuilder).GetProperty("Task"));

        private static ResultCall<TBuilder, object?>? Of(PropertyInfo? property) =>
            property is null ? null
            : (ResultCall<TBuilder, object?>)typeof(Results<TBuilder>).GetMethod(nameof(As), BindingFlags.Static | BindingFlags.NonPublic)!
                .MakeGenericMethod(property.PropertyType).Invoke(null, [property.GetMethod])!;

        private static ResultCall<TBuilder, object?> As<TTask>(MethodInfo method)
        {
            ResultCall<TBuilder, TTask> result = method.CreateDelegate<ResultCall<TBuilder, TTask>>();
            return (ref TBuilder builder) =>
            {
                TTask task = result(ref builder);
                return Unsafe.As<TTask, object?>(ref task);
            };
        }
    }

    /// <summary>Stands before an awaiter of the platform when an async method awaits it.</summary>
    private sealed class ControlledAwaiter<TAwaiter>(TAwaiter awaiter) : ICriticalNotifyCompletion
    {
        private TAwaiter _awaiter = awaiter;

        public void OnCompleted(Action continuation) => UnsafeOnCompleted(continuation);

        public void UnsafeOnCompleted(Action continuation)
        {
            try
            {
                Awaiters<TAwaiter>.Register!(ref _awaiter, continuation);
            }
            catch (StopException)
            {
                // The platform's builder would throw it on a thread of the pool, which ends the process. The next point throws it again.
            }
        }
    }

    private static class Awaits<TBuilder, TAwaiter, TMachine>
    {
        public static readonly AwaitCall<TBuilder, TAwaiter, TMachine> Call = Find();

        private static AwaitCall<TBuilder, TAwaiter, TMachine> Find()
        {
            string name = typeof(TAwaiter).IsAssignableTo(typeof(ICriticalNotifyCompletion)) ? "AwaitUnsafeOnCompleted" : "AwaitOnCompleted";
            MethodInfo method = typeof(TBuilder).GetMethod(name)!.MakeGenericMethod(typeof(TAwaiter), typeof(TMachine));
            return method.CreateDelegate<AwaitCall<TBuilder, TAwaiter, TMachine>>();
        }
    }
}

/// <summary>Registers a continuation with an awaiter of the platform, so that it runs where the platform would run it, on controlled threads.</summary>
internal static class Awaiters<TAwaiter>
{
    public delegate void Registrar(ref TAwaiter awaiter, Action continuation);

    /// <summary>Null for an awaiter that is not the platform's: its own code is rewritten.</summary>
    public static Registrar? Register { get; } = Find();

    /// <summary>The task, or other source of a value task, that is awaited: its first field. Null if it has none, or is not the platform's.</summary>
    public static object? Source(ref TAwaiter awaiter) =>
        Register is null || typeof(TAwaiter) == typeof(YieldAwaitable.YieldAwaiter) ? null : Unsafe.As<TAwaiter, object?>(ref awaiter);

    /// <summary>By the names of the platform's awaiters: those of a value task and of a configured one have the same fields.</summary>
    private static Registrar? Find()
    {
        Type type = typeof(TAwaiter);
        string kind = type.Name.Split('`')[0].Replace("Awaiter", "", StringComparison.Ordinal).Replace("ConfiguredValue", "Value", StringComparison.Ordinal);
        bool hasResult = type.IsGenericType && kind == "ValueTask";
        MethodInfo? method = type.Assembly == typeof(object).Assembly ? typeof(Registrars).GetMethod($"Of{kind}{(hasResult ? "WithResult" : "")}") : null;
        return method?.MakeGenericMethod(hasResult ? [type, type.GetGenericArguments()[0]] : [type]).CreateDelegate<Registrar>();
    }
}

/// <summary>One method for each kind of awaiter. The awaiters of a kind have the same fields, whatever the result is.</summary>
internal static class Registrars
{
    public static void OfYield<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Pool.QueueInside(Noted(continuation, capture: true));
    public static void OfTask<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Await(Unsafe.As<TAwaiter, Task>(ref awaiter), continuation, capture: true);

    public static void OfConfiguredTask<TAwaiter>(ref TAwaiter awaiter, Action continuation)
    {
        ref ConfiguredFields fields = ref Unsafe.As<TAwaiter, ConfiguredFields>(ref awaiter);
        Await(fields.Task, continuation, (fields.Options & ConfigureAwaitOptions.ContinueOnCapturedContext) != 0);
    }

    public static void OfValueTask<TAwaiter>(ref TAwaiter awaiter, Action continuation)
    {
        ValueTask task = Unsafe.As<TAwaiter, ValueTask>(ref awaiter);
        OnSource(ref awaiter, continuation, Captures(ref task), task.IsCompleted, noted => task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(noted));
    }

    public static void OfValueTaskWithResult<TAwaiter, TResult>(ref TAwaiter awaiter, Action continuation)
    {
        ValueTask<TResult> task = Unsafe.As<TAwaiter, ValueTask<TResult>>(ref awaiter);
        OnSource(ref awaiter, continuation, WithResult<TResult>.Captures(ref task), task.IsCompleted, noted => task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(noted));
    }

    /// <summary>
    /// An await of a task. Of all awaits of a task, the platform lets the first one go on on the thread that ends it, and the others on the pool. So that thread
    /// never runs one before what others do then, nor where code after it may not run: in a context or on a scheduler of the program's own.
    /// </summary>
    private static void Await(Task task, Action continuation, bool capture) =>
        On(task, continuation, capture, isInline: false, isQueued: !Points.Me.Execution.Awaited.Add(task));

    /// <summary>Goes on when the task has ended: on the thread that ends it, or on one of the pool where the task asks for that.</summary>
    /// <param name="task">The task.</param>
    /// <param name="continuation">What goes on.</param>
    /// <param name="capture">Whether in the context of now.</param>
    /// <param name="isInline">Whether on the thread that ends the task in any case.</param>
    /// <param name="isQueued">Whether on one of the pool in any case.</param>
    public static void On(Task task, Action continuation, bool capture, bool isInline = false, bool isQueued = false)
    {
        Action noted = Noted(continuation, capture);
        Effects.Observe(task.IsCompleted);
        if (task.IsCompleted)
        {
            Pool.QueueInside(noted);
            return;
        }

        Effects.Write(task);
        task.ContinueWith(
            static (_, state) => ((PoolScheduler.Continuation)state!).Action(), new PoolScheduler.Continuation(noted, isInline), CancellationToken.None,
            (isQueued ? 0 : TaskContinuationOptions.ExecuteSynchronously) | TaskContinuationOptions.HideScheduler, PoolScheduler.Instance);
    }

    private static void OnSource<TAwaiter>(ref TAwaiter awaiter, Action continuation, bool capture, bool isCompleted, Action<Action> ofSource)
    {
        object? source = Awaiters<TAwaiter>.Source(ref awaiter);
        if (source is Task inner)
        {
            Await(inner, continuation, capture);
            return;
        }

        // A source of the platform that has ended, such as an async method whose box is used again, queues the continuation to the platform's own pool.
        bool queues = source is null || (isCompleted && source.GetType().Assembly == typeof(object).Assembly);
        Action<Action> register = queues ? Pool.QueueInside : ofSource;
        register(Noted(continuation, capture));
    }

    private static Action Noted(Action continuation, bool capture)
    {
        ControlledThread me = Points.Me;
        Execution execution = me.Execution;
        execution.ThrowIfStopping(me);
        SynchronizationContext? context = capture ? SynchronizationContext.Current : null;
        string site = me.Site;
        LinkedListNode<string> awaited = execution.Awaits.AddLast(site);
        Action? join = Effects.Fork();
        return () =>
        {
            if (ControlledThread.Current is null)
            {
                // Of a schedule that is over, or of this one, in a way that is not known.
                execution.ContinuesUncontrolled(site);
                return;
            }

            execution.Awaits.Remove(awaited);
            join?.Invoke();
            try
            {
                if (context is not null && context != SynchronizationContext.Current && context.GetType() != typeof(SynchronizationContext))
                {
                    Contexts.Post(context, static action => ((Action)action!)(), continuation);
                }
                else
                {
                    continuation();
                }
            }
            catch (Exception error) when (error is not StopException)
            {
                Points.NobodyTakes(error);
            }
        };
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_continueOnCapturedContext")]
    private static extern ref bool Captures(ref ValueTask task);

    private static class WithResult<TResult>
    {
        [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_continueOnCapturedContext")]
        public static extern ref bool Captures(ref ValueTask<TResult> task);
    }

    private struct ConfiguredFields
    {
#pragma warning disable CS0649 // It is laid over the platform's type.
        public Task Task;
        public ConfigureAwaitOptions Options;
#pragma warning restore CS0649
    }
}

/// <summary>
/// Continuations, and tasks, that would begin on the default scheduler. With a scheduler given, the platform's method is called: it calls the scheduler.
/// </summary>
[Replaces("System.Threading.Tasks.Task")]
[Replaces("System.Threading.Tasks.Task`1")]
[Replaces("System.Threading.Tasks.TaskFactory")]
[Replaces("System.Threading.Tasks.TaskFactory`1")]
internal static class Continuations
{
    private static TaskScheduler Here => PoolScheduler.InPlaceOf(TaskScheduler.Current);

    public static Task ContinueWith(Task task, Action<Task> action) => task.ContinueWith(action, default, default, Here);
    public static Task ContinueWith(Task task, Action<Task> action, CancellationToken token) => task.ContinueWith(action, token, default, Here);
    public static Task ContinueWith(Task task, Action<Task> action, TaskContinuationOptions options) => task.ContinueWith(action, default, options, Here);
    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state) => task.ContinueWith(action, state, default, default, Here);
    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state, CancellationToken token) =>
        task.ContinueWith(action, state, token, default, Here);
    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state, TaskContinuationOptions options) =>
        task.ContinueWith(action, state, default, options, Here);
    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function) => task.ContinueWith(function, default, default, Here);
    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function, CancellationToken token) =>
        task.ContinueWith(function, token, default, Here);
    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function, TaskContinuationOptions options) =>
        task.ContinueWith(function, default, options, Here);
    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, object?, TNew> function, object? state) =>
        task.ContinueWith(function, state, default, default, Here);
    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, object?, TNew> function, object? state, CancellationToken token) =>
        task.ContinueWith(function, state, token, default, Here);
    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, object?, TNew> function, object? state, TaskContinuationOptions options) =>
        task.ContinueWith(function, state, default, options, Here);
    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action) => task.ContinueWith(action, default, default, Here);
    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action, CancellationToken token) => task.ContinueWith(action, token, default, Here);
    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action, TaskContinuationOptions options) =>
        task.ContinueWith(action, default, options, Here);
    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>, object?> action, object? state) =>
        task.ContinueWith(action, state, default, default, Here);
    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>, object?> action, object? state, CancellationToken token) =>
        task.ContinueWith(action, state, token, default, Here);
    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>, object?> action, object? state, TaskContinuationOptions options) =>
        task.ContinueWith(action, state, default, options, Here);
    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function) => task.ContinueWith(function, default, default, Here);
    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function, CancellationToken token) =>
        task.ContinueWith(function, token, default, Here);
    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function, TaskContinuationOptions options) =>
        task.ContinueWith(function, default, options, Here);
    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, object?, TNew> function, object? state) =>
        task.ContinueWith(function, state, default, default, Here);
    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, object?, TNew> function, object? state, CancellationToken token) =>
        task.ContinueWith(function, state, token, default, Here);
    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, object?, TNew> function, object? state, TaskContinuationOptions options) =>
        task.ContinueWith(function, state, default, options, Here);
    public static Task StartNew(TaskFactory factory, Action action) =>
        factory.StartNew(action, factory.CancellationToken, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task StartNew(TaskFactory factory, Action action, CancellationToken token) =>
        factory.StartNew(action, token, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task StartNew(TaskFactory factory, Action action, TaskCreationOptions options) =>
        factory.StartNew(action, factory.CancellationToken, options, factory.Scheduler ?? Here);
    public static Task StartNew(TaskFactory factory, Action<object?> action, object? state) =>
        factory.StartNew(action, state, factory.CancellationToken, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task StartNew(TaskFactory factory, Action<object?> action, object? state, CancellationToken token) =>
        factory.StartNew(action, state, token, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task StartNew(TaskFactory factory, Action<object?> action, object? state, TaskCreationOptions options) =>
        factory.StartNew(action, state, factory.CancellationToken, options, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory factory, Func<T> function) =>
        factory.StartNew(function, factory.CancellationToken, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory factory, Func<T> function, CancellationToken token) =>
        factory.StartNew(function, token, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory factory, Func<T> function, TaskCreationOptions options) =>
        factory.StartNew(function, factory.CancellationToken, options, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory factory, Func<object?, T> function, object? state) =>
        factory.StartNew(function, state, factory.CancellationToken, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory factory, Func<object?, T> function, object? state, CancellationToken token) =>
        factory.StartNew(function, state, token, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory factory, Func<object?, T> function, object? state, TaskCreationOptions options) =>
        factory.StartNew(function, state, factory.CancellationToken, options, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory<T> factory, Func<T> function) =>
        factory.StartNew(function, factory.CancellationToken, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory<T> factory, Func<T> function, CancellationToken token) =>
        factory.StartNew(function, token, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory<T> factory, Func<T> function, TaskCreationOptions options) =>
        factory.StartNew(function, factory.CancellationToken, options, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory<T> factory, Func<object?, T> function, object? state) =>
        factory.StartNew(function, state, factory.CancellationToken, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory<T> factory, Func<object?, T> function, object? state, CancellationToken token) =>
        factory.StartNew(function, state, token, factory.CreationOptions, factory.Scheduler ?? Here);
    public static Task<T> StartNew<T>(TaskFactory<T> factory, Func<object?, T> function, object? state, TaskCreationOptions options) =>
        factory.StartNew(function, state, factory.CancellationToken, options, factory.Scheduler ?? Here);
}

/// <summary>A thread that waits for a task or another object, and calls of the platform's awaiters outside of async methods.</summary>
internal static class Waits
{
    public static void OnCompleted<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Awaiters<TAwaiter>.Register!(ref awaiter, continuation);

    /// <summary>Before the awaiter's own <c>GetResult</c>.</summary>
    public static void Wait<TAwaiter>(ref TAwaiter awaiter) => For(Awaiters<TAwaiter>.Source(ref awaiter));

    /// <summary>Before the awaiter says whether what it awaits has ended.</summary>
    public static void Look<TAwaiter>(ref TAwaiter awaiter) => Effects.Acquire(Awaiters<TAwaiter>.Source(ref awaiter));

    public static void For(object? source)
    {
        if (source is Task { IsCompleted: false } task)
        {
            _ = For(task, Timeout.InfiniteTimeSpan, CancellationToken.None);
        }

        Effects.Acquire(source);
    }

    public static bool For(Task task, TimeSpan timeout, CancellationToken token)
    {
        ControlledThread me = Points.Me;
        me.Step(orders: false);
        me.Execution.RunInPlace(me, timeout < TimeSpan.Zero && !token.CanBeCanceled ? [task] : []);
        bool hasEnded = me.Block("a task", () => task.IsCompleted || token.IsCancellationRequested, timeout, orders: token.CanBeCanceled);
        if (hasEnded && !task.IsCompleted)
        {
            token.ThrowIfCancellationRequested();
        }

        Effects.Acquire(hasEnded ? task : null);
        return Effects.Observe(hasEnded);
    }

    /// <summary>Waits for what an object of the model has, and throws if it is cancelled before that is there.</summary>
    public static bool For(string what, Func<bool> isThere, TimeSpan timeout, CancellationToken token)
    {
        Effects.ObserveToken(ref token);
        token.ThrowIfCancellationRequested();
        _ = Points.Me.Block(what, () => isThere() || token.IsCancellationRequested, timeout, orders: false);
        Effects.OrderWakeUp();
        Effects.ObserveToken(ref token);
        bool holds = Effects.Observe(isThere());
        if (!holds)
        {
            token.ThrowIfCancellationRequested();
        }

        return holds;
    }
}

/// <summary>Each work item is a thread of the schedule, so that it may begin at any time.</summary>
[Replaces("System.Threading.ThreadPool")]
internal static class Pool
{
    public static bool QueueUserWorkItem(WaitCallback callBack) => Queue(() => callBack(null));
    public static bool QueueUserWorkItem(WaitCallback callBack, object? state) => Queue(() => callBack(state));
    public static bool QueueUserWorkItem<TState>(Action<TState> callBack, TState state, bool preferLocal) => Queue(() => callBack(state));
    public static bool UnsafeQueueUserWorkItem(WaitCallback callBack, object? state) => Queue(() => callBack(state), flows: false);
    public static bool UnsafeQueueUserWorkItem<TState>(Action<TState> callBack, TState state, bool preferLocal) => Queue(() => callBack(state), flows: false);
    public static bool UnsafeQueueUserWorkItem(IThreadPoolWorkItem callBack, bool preferLocal) => Queue(callBack.Execute, flows: false);

    /// <summary>Queues a work item, that of a task if there is one; a point.</summary>
    public static bool Queue(Action body, bool flows = true, Task? task = null)
    {
        ControlledThread me = Points.Me;
        me.Execution.ThrowIfStopping(me);
        me.Execution.Create("pool", body, flows ? ExecutionContext.Capture() : null).Queued = (task, me);
        me.Step(orders: false);
        return true;
    }

    /// <summary>Queues a work item from inside an operation that is one piece.</summary>
    public static void QueueInside(Action body) => QueueInside(body, null);
    public static void QueueInside(Action body, Task? task) => ControlledThread.Current?.Execution.Create("pool", body, null).Queued = (task, ControlledThread.Current);
}

/// <summary>A context that has no way of its own to post has the pool's.</summary>
[Replaces("System.Threading.SynchronizationContext")]
internal static class Contexts
{
    private static readonly Type[] OfPost = [typeof(SendOrPostCallback), typeof(object)];

    public static void Post(SynchronizationContext context, SendOrPostCallback callback, object? state)
    {
        bool hasOwn = context.GetType().GetMethod(nameof(Post), OfPost)!.DeclaringType != typeof(SynchronizationContext);
        Action<SendOrPostCallback, object?> post = hasOwn ? context.Post : (c, s) => PostOfBase(context, c, s);
        post(callback, state);
    }

    public static void PostOfBase(SynchronizationContext context, SendOrPostCallback callback, object? state) => Pool.Queue(() => callback(state));
}

/// <summary>The scheduler of tasks in place of the default one. Without a schedule it does nothing: what still comes then is of one that is over.</summary>
internal sealed class PoolScheduler : TaskScheduler
{
    /// <summary>The state of a task that is no more than a call when another one ends.</summary>
    public sealed record Continuation(Action Action, bool IsInline);

    public static PoolScheduler Instance { get; } = new();

    public static TaskScheduler InPlaceOf(TaskScheduler scheduler) => scheduler == Default ? Instance : scheduler;

    protected override void QueueTask(Task task)
    {
        var continuation = task.AsyncState as Continuation;
        if (ControlledThread.Current is null)
        {
            // On a thread that is not controlled, a continuation notes that it came, and goes no further.
            continuation?.Action();
        }
        else if (continuation is { IsInline: true })
        {
            Run(task);
        }
        else
        {
            bool isOfThread = (task.CreationOptions & (TaskCreationOptions.LongRunning | TaskCreationOptions.PreferFairness)) == 0;
            Pool.QueueInside(() => Run(task), isOfThread ? task : null);
        }
    }

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) =>
        ControlledThread.Current is not null && !taskWasPreviouslyQueued && Run(task);

    private bool Run(Task task)
    {
        ControlledThread? me = ControlledThread.Current;
        if (me is not { Execution: { Races: not null } or { Conflicts: not null } })
        {
            return TryExecuteTask(task);
        }

        // The task around this one may have ended: then this is a continuation of it, at whose points others can see that.
        Task? outer = me.Runs;
        Release(outer);
        if (task.AsyncState is not Continuation)
        {
            Effects.CallPlatform();
            me.Runs = task;
        }

        bool hasRun = TryExecuteTask(task);
        if (task.AsyncState is not Continuation)
        {
            Effects.WritePlatform();
        }

        Release(me.Runs);
        me.Runs = outer;
        return hasRun;
    }

    private static void Release(Task? task)
    {
        // One with children may end later, as the last of these does.
        if (task is not null && (ControlledThread.Current!.Execution.Races is not null || task.IsCompleted))
        {
            Effects.Release(task);
        }
    }

    protected override IEnumerable<Task> GetScheduledTasks() => [];
}

/// <summary>The completion of a value task's source.</summary>
[Replaces("System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore`1")]
internal struct CompletionCore<TResult>
{
    private Action<object?>? _continuation;
    private object? _state;
    private ExecutionContext? _context;
    private object? _order;
    private Exception? _error;
    private TResult? _result;
    private bool _isCompleted;

    public bool RunContinuationsAsynchronously { get; set; }

    public short Version
    {
        readonly get => (short)Effects.Observe((ulong)field);
        private set;
    }

    public void Reset()
    {
        Effects.Write(_order);
        Version++;
        (_continuation, _state, _context, _error, _result, _isCompleted) = (null, null, null, null, default, false);
    }

    public void SetResult(TResult result) => Complete(result, null);
    public void SetException(Exception error) => Complete(default, error);

    public readonly ValueTaskSourceStatus GetStatus(short token)
    {
        Require(token == Version);
        Effects.Acquire(_isCompleted ? _order : null);
        return !_isCompleted ? ValueTaskSourceStatus.Pending
            : _error is null ? ValueTaskSourceStatus.Succeeded
            : _error is OperationCanceledException ? ValueTaskSourceStatus.Canceled
            : ValueTaskSourceStatus.Faulted;
    }

    public readonly TResult GetResult(short token)
    {
        Require(token == Version && _isCompleted);
        Effects.Acquire(_order);
        if (_error is not null)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(_error);
        }

        return _result!;
    }

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        Effects.AcquireRelease(_order ??= new object());
        Require(token == Version && _continuation is null);
        if (_isCompleted)
        {
            Pool.QueueInside(() => continuation(state));
            return;
        }

        _context = (flags & ValueTaskSourceOnCompletedFlags.FlowExecutionContext) != 0 ? ExecutionContext.Capture() : null;
        (_continuation, _state) = (continuation, state);
    }

    private void Complete(TResult? result, Exception? error)
    {
        Points.Me.StepOn(_order ??= new object());
        Effects.AcquireRelease(_order);
        Require(!_isCompleted);
        (_result, _error, _isCompleted) = (result, error, true);
        if (_continuation is not { } continuation)
        {
            return;
        }

        (object? state, ExecutionContext? context) = (_state, _context);
        Action run = context is null ? () => continuation(state) : () => ExecutionContext.Run(context, continuation.Invoke, state);
        Action<Action> how = RunContinuationsAsynchronously ? Pool.QueueInside : static r => r();
        how(run);
    }

    private static void Require(bool holds)
    {
        if (!holds)
        {
            throw new InvalidOperationException();
        }
    }
}
