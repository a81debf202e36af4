using System.Reflection;

namespace Weir.Explore.Model;

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
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        Awaits<TBuilder, ControlledAwaiter<TAwaiter>, TMachine>.Call(ref builder, ref controlled, ref machine);
    }

    public static void SetException(ref AsyncTaskMethodBuilder builder, Exception exception)
    {
        ControlledThread.Current?.Execution.Failed(builder.Task);
        Order.Release(builder.Task);
        builder.SetException(exception);
    }

    public static void SetException<TResult>(ref AsyncTaskMethodBuilder<TResult> builder, Exception exception)
    {
        ControlledThread.Current?.Execution.Failed(builder.Task);
        Order.Release(builder.Task);
        builder.SetException(exception);
    }

    public static void SetException(ref AsyncVoidMethodBuilder builder, Exception exception)
    {
        if (exception is not StopException)
        {
            Points.NobodyTakes(exception);
        }
    }

    /// <summary>What the builder completes: a task, or another source of a value task. Null if it has none.</summary>
    public static object? TaskOf<TBuilder>(ref TBuilder builder) => Results<TBuilder>.Find?.Invoke(ref builder);

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
