using System.Runtime.CompilerServices;
using Weir.Explore.Scheduling;

namespace Weir.Explore.Model;

/// <summary>Awaits of async methods. An awaiter of the platform gets a <see cref="ControlledAwaiter{TAwaiter}"/> before it.</summary>
[Replaces("System.Runtime.CompilerServices.AsyncTaskMethodBuilder")]
[Replaces("System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1")]
[Replaces("System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder")]
[Replaces("System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder`1")]
[Replaces("System.Runtime.CompilerServices.AsyncVoidMethodBuilder")]
[Replaces("System.Runtime.CompilerServices.AsyncIteratorMethodBuilder")]
[Replaces("System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder")]
[Replaces("System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1")]
internal static class Builders
{
    public static void AwaitOnCompleted<TAwaiter, TMachine>(ref AsyncTaskMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref AsyncTaskMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void SetException(ref AsyncTaskMethodBuilder builder, Exception exception)
    {
        ControlledThread.Current?.Execution.Failed(builder.Task);
        builder.SetException(exception);
    }

    public static void AwaitOnCompleted<TResult, TAwaiter, TMachine>(ref AsyncTaskMethodBuilder<TResult> builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TResult, TAwaiter, TMachine>(
        ref AsyncTaskMethodBuilder<TResult> builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void SetException<TResult>(ref AsyncTaskMethodBuilder<TResult> builder, Exception exception)
    {
        ControlledThread.Current?.Execution.Failed(builder.Task);
        builder.SetException(exception);
    }

    public static void AwaitOnCompleted<TAwaiter, TMachine>(ref AsyncValueTaskMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref AsyncValueTaskMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitOnCompleted<TResult, TAwaiter, TMachine>(
        ref AsyncValueTaskMethodBuilder<TResult> builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TResult, TAwaiter, TMachine>(
        ref AsyncValueTaskMethodBuilder<TResult> builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitOnCompleted<TAwaiter, TMachine>(ref AsyncVoidMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref AsyncVoidMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void SetException(ref AsyncVoidMethodBuilder builder, Exception exception)
    {
        if (exception is not StopException)
        {
            Failures.NobodyTakes(exception);
        }
    }

    public static void AwaitOnCompleted<TAwaiter, TMachine>(ref AsyncIteratorMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref AsyncIteratorMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitOnCompleted<TAwaiter, TMachine>(ref PoolingAsyncValueTaskMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref PoolingAsyncValueTaskMethodBuilder builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitOnCompleted<TResult, TAwaiter, TMachine>(
        ref PoolingAsyncValueTaskMethodBuilder<TResult> builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }

    public static void AwaitUnsafeOnCompleted<TResult, TAwaiter, TMachine>(
        ref PoolingAsyncValueTaskMethodBuilder<TResult> builder, ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        if (Awaiters<TAwaiter>.Register is null)
        {
            builder.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
            return;
        }

        ControlledAwaiter<TAwaiter> controlled = new(awaiter);
        builder.AwaitUnsafeOnCompleted(ref controlled, ref machine);
    }
}
