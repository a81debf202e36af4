namespace Weir.Explore.Model;

[Replaces("System.Threading.Tasks.Task")]
[Replaces("System.Threading.Tasks.Task`1")]
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

    public static void Wait(Task task)
    {
        Waits.For(task);
        task.Wait();
    }

    public static void Wait(Task task, CancellationToken cancellationToken)
    {
        _ = Waits.For(task, Timeout.InfiniteTimeSpan, cancellationToken);
        task.Wait(CancellationToken.None);
    }

    public static bool Wait(Task task, int millisecondsTimeout) => Wait(task, TimeSpan.FromMilliseconds(millisecondsTimeout));

    public static bool Wait(Task task, TimeSpan timeout) => Waits.For(task, timeout, CancellationToken.None) && task.Wait(Timeout.InfiniteTimeSpan);

    public static void WaitAll(params Task[] tasks)
    {
        Array.ForEach(tasks, Waits.For);
        Task.WaitAll(tasks);
    }

    public static int WaitAny(params Task[] tasks)
    {
        Waits.For(WhenAny(tasks));
        return Array.FindIndex(tasks, HasEnded);
    }

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
        Order.Platform();
        Order.Look(task);
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
            Order.Release(ended);
            how();
        }
    }

    private static Task<T> RunCore<T>(Func<T> function, CancellationToken token)
    {
        Order.OfToken(ref token);
        if (token.IsCancellationRequested)
        {
            return Task.FromCanceled<T>(token);
        }

        TaskCompletionSource<T> ended = new();
        _ = Pool.Queue(
            () =>
            {
                Order.OfToken(ref token);
                if (token.IsCancellationRequested)
                {
                    Order.Platform();
                    Order.End(ended.Task);
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
                    Order.Release(ended.Task);
                    ended.TrySetCanceled(token);
                    return;
                }
                catch (Exception error) when (error is not StopException)
                {
                    ControlledThread.Current!.Execution.Failed(ended.Task);
                    Order.Release(ended.Task);
                    ended.TrySetException(error);
                    return;
                }

                Points.Me.Step("the end of a task", orders: false);
                Order.Release(ended.Task);
                ended.TrySetResult(result);
            });
        return ended.Task;
    }

    private static Task Follow(Task<Task?> outer)
    {
        TaskCompletionSource ended = new();
        Registrars.On(outer, () => Then(outer, () => Set(ended, outer.Result!), () => Set(ended, outer)), capture: false);
        return ended.Task;
    }

    private static Task<T> Follow<T>(Task<Task<T>?> outer)
    {
        TaskCompletionSource<T> ended = new();
        Registrars.On(outer, () => Then(outer, () => Set(ended, outer.Result!), () => SetFailed(ended, outer)), capture: false);
        return ended.Task;
    }

    private static void Then<TInner>(Task<TInner> outer, Action inner, Action failed)
        where TInner : Task?
    {
        if (!outer.IsCompletedSuccessfully || outer.Result is null)
        {
            failed();
        }
        else if (HasEnded(outer.Result))
        {
            inner();
        }
        else
        {
            Registrars.On(outer.Result, inner, capture: false);
        }
    }

    private static bool HasEnded(Task task)
    {
        Order.Look(task);
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

    private static void SetFailed<T>(TaskCompletionSource<T> ended, Task task)
    {
        Follows(ended.Task, task);
        _ = task.Exception is { } error ? ended.TrySetException(error.InnerExceptions) : ended.TrySetCanceled();
    }

    private static void Follows(Task ended, Task task)
    {
        Order.Acquire(task);
        Order.Release(ended);
        if (task.IsFaulted)
        {
            ControlledThread.Current?.Execution.Failed(ended);
        }
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
        Task[] open = Array.FindAll(tasks, static t => !HasEnded(t));
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
                    Order.Change(open);
                    if (--left == 0)
                    {
                        End();
                    }
                },
                capture: false);
        }

        void End()
        {
            Array.ForEach(tasks, Order.Acquire);
            end();
        }
    }

    private static Task<TTask> Any<TTask>(TTask[] tasks)
        where TTask : Task
    {
        if (Array.Find(tasks, HasEnded) is { } first)
        {
            Order.Acquire(first);
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
            Order.Release(ended.Task);
            ended.TrySetResult(task);
        }
    }
}
