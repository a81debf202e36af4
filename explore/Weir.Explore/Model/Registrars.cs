using System.Threading.Tasks.Sources;

namespace Weir.Explore.Model;

/// <summary>One method for each kind of awaiter. The awaiters of a kind have the same fields, whatever the result is.</summary>
internal static class Registrars
{
    public static void OfYield<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Pool.QueueInside(Noted(continuation, capture: true));

    public static void OfTask<TAwaiter>(ref TAwaiter awaiter, Action continuation) => On(Unsafe.As<TAwaiter, Task>(ref awaiter), continuation, capture: true);

    public static void OfConfiguredTask<TAwaiter>(ref TAwaiter awaiter, Action continuation)
    {
        ref ConfiguredFields fields = ref Unsafe.As<TAwaiter, ConfiguredFields>(ref awaiter);
        On(fields.Task, continuation, (fields.Options & ConfigureAwaitOptions.ContinueOnCapturedContext) != 0);
    }

    public static void OfValueTask<TAwaiter>(ref TAwaiter awaiter, Action continuation)
    {
        ValueTask task = Unsafe.As<TAwaiter, ValueTask>(ref awaiter);
        OnSource(ref awaiter, continuation, Captures(ref task), noted => task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(noted));
    }

    public static void OfValueTaskWithResult<TAwaiter, TResult>(ref TAwaiter awaiter, Action continuation)
    {
        ValueTask<TResult> task = Unsafe.As<TAwaiter, ValueTask<TResult>>(ref awaiter);
        OnSource(ref awaiter, continuation, WithResult<TResult>.Captures(ref task), noted => task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(noted));
    }

    /// <summary>Goes on when the task has ended: on the thread that ends it, or on one of the pool where the task asks for that.</summary>
    public static void On(Task task, Action continuation, bool capture)
    {
        Action noted = Noted(continuation, capture);
        Order.Learn(task.IsCompleted);
        if (task.IsCompleted)
        {
            Pool.QueueInside(noted);
            return;
        }

        Order.Change(task);
        task.ContinueWith(
            static (_, state) => ((PoolScheduler.Continuation)state!).Action(), new PoolScheduler.Continuation(noted), CancellationToken.None,
            TaskContinuationOptions.ExecuteSynchronously | TaskContinuationOptions.HideScheduler, PoolScheduler.Instance);
    }

    private static void OnSource<TAwaiter>(ref TAwaiter awaiter, Action continuation, bool capture, Action<Action> ofSource)
    {
        object? source = Awaiters<TAwaiter>.Source(ref awaiter);
        if (source is Task inner)
        {
            On(inner, continuation, capture);
            return;
        }

        Action<Action> register = source is null ? Pool.QueueInside : ofSource;
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
        Action? join = Order.Fork();
        return () =>
        {
            if (ControlledThread.Current is null)
            {
                // Of a schedule that is over, or of this one, in a way that is not known.
                execution.CameFromElsewhere(site);
                return;
            }

            execution.Awaits.Remove(awaited);
            join?.Invoke();
            try
            {
                if (context is not null && context != SynchronizationContext.Current && context.GetType() != typeof(SynchronizationContext))
                {
                    context.Post(static action => ((Action)action!)(), continuation);
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
