using System.Runtime.CompilerServices;

namespace Weir.Explore.Model;

/// <summary>Calls of awaiters outside of async methods, and results, for which a thread waits if they are not there.</summary>
[Replaces("System.Runtime.CompilerServices.TaskAwaiter")]
[Replaces("System.Runtime.CompilerServices.TaskAwaiter`1")]
[Replaces("System.Runtime.CompilerServices.ConfiguredTaskAwaitable/ConfiguredTaskAwaiter")]
[Replaces("System.Runtime.CompilerServices.ConfiguredTaskAwaitable`1/ConfiguredTaskAwaiter")]
[Replaces("System.Runtime.CompilerServices.ValueTaskAwaiter")]
[Replaces("System.Runtime.CompilerServices.ValueTaskAwaiter`1")]
[Replaces("System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable/ConfiguredValueTaskAwaiter")]
[Replaces("System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable`1/ConfiguredValueTaskAwaiter")]
[Replaces("System.Runtime.CompilerServices.YieldAwaitable/YieldAwaiter")]
internal static class AwaiterCalls
{
    public static void OnCompleted(ref TaskAwaiter awaiter, Action continuation) => Awaiters<TaskAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted(ref TaskAwaiter awaiter, Action continuation) => Awaiters<TaskAwaiter>.Register!(ref awaiter, continuation);

    public static void GetResult(ref TaskAwaiter awaiter)
    {
        Waits.For(Unsafe.As<TaskAwaiter, Task>(ref awaiter));
        awaiter.GetResult();
    }

    public static void OnCompleted<T>(ref TaskAwaiter<T> awaiter, Action continuation) => Awaiters<TaskAwaiter<T>>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted<T>(ref TaskAwaiter<T> awaiter, Action continuation) => Awaiters<TaskAwaiter<T>>.Register!(ref awaiter, continuation);

    public static T GetResult<T>(ref TaskAwaiter<T> awaiter)
    {
        Waits.For(Unsafe.As<TaskAwaiter<T>, Task>(ref awaiter));
        return awaiter.GetResult();
    }

    public static void OnCompleted(ref ConfiguredTaskAwaitable.ConfiguredTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredTaskAwaitable.ConfiguredTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted(ref ConfiguredTaskAwaitable.ConfiguredTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredTaskAwaitable.ConfiguredTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void GetResult(ref ConfiguredTaskAwaitable.ConfiguredTaskAwaiter awaiter)
    {
        Waits.For(Unsafe.As<ConfiguredTaskAwaitable.ConfiguredTaskAwaiter, Task>(ref awaiter));
        awaiter.GetResult();
    }

    public static void OnCompleted<T>(ref ConfiguredTaskAwaitable<T>.ConfiguredTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredTaskAwaitable<T>.ConfiguredTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted<T>(ref ConfiguredTaskAwaitable<T>.ConfiguredTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredTaskAwaitable<T>.ConfiguredTaskAwaiter>.Register!(ref awaiter, continuation);

    public static T GetResult<T>(ref ConfiguredTaskAwaitable<T>.ConfiguredTaskAwaiter awaiter)
    {
        Waits.For(Unsafe.As<ConfiguredTaskAwaitable<T>.ConfiguredTaskAwaiter, Task>(ref awaiter));
        return awaiter.GetResult();
    }

    public static void OnCompleted(ref ValueTaskAwaiter awaiter, Action continuation) => Awaiters<ValueTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted(ref ValueTaskAwaiter awaiter, Action continuation) => Awaiters<ValueTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void GetResult(ref ValueTaskAwaiter awaiter)
    {
        Waits.For(Fields.Source(ref Unsafe.As<ValueTaskAwaiter, ValueTask>(ref awaiter)) as Task);
        awaiter.GetResult();
    }

    public static void OnCompleted<T>(ref ValueTaskAwaiter<T> awaiter, Action continuation) =>
        Awaiters<ValueTaskAwaiter<T>>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted<T>(ref ValueTaskAwaiter<T> awaiter, Action continuation) =>
        Awaiters<ValueTaskAwaiter<T>>.Register!(ref awaiter, continuation);

    public static T GetResult<T>(ref ValueTaskAwaiter<T> awaiter)
    {
        Waits.For(Fields<T>.Source(ref Unsafe.As<ValueTaskAwaiter<T>, ValueTask<T>>(ref awaiter)) as Task);
        return awaiter.GetResult();
    }

    public static void OnCompleted(ref ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted(ref ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void GetResult(ref ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter awaiter)
    {
        Waits.For(Fields.Source(ref Unsafe.As<ConfiguredValueTaskAwaitable.ConfiguredValueTaskAwaiter, ValueTask>(ref awaiter)) as Task);
        awaiter.GetResult();
    }

    public static void OnCompleted<T>(ref ConfiguredValueTaskAwaitable<T>.ConfiguredValueTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredValueTaskAwaitable<T>.ConfiguredValueTaskAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted<T>(ref ConfiguredValueTaskAwaitable<T>.ConfiguredValueTaskAwaiter awaiter, Action continuation) =>
        Awaiters<ConfiguredValueTaskAwaitable<T>.ConfiguredValueTaskAwaiter>.Register!(ref awaiter, continuation);

    public static T GetResult<T>(ref ConfiguredValueTaskAwaitable<T>.ConfiguredValueTaskAwaiter awaiter)
    {
        Waits.For(Fields<T>.Source(ref Unsafe.As<ConfiguredValueTaskAwaitable<T>.ConfiguredValueTaskAwaiter, ValueTask<T>>(ref awaiter)) as Task);
        return awaiter.GetResult();
    }

    public static void OnCompleted(ref YieldAwaitable.YieldAwaiter awaiter, Action continuation) =>
        Awaiters<YieldAwaitable.YieldAwaiter>.Register!(ref awaiter, continuation);

    public static void UnsafeOnCompleted(ref YieldAwaitable.YieldAwaiter awaiter, Action continuation) =>
        Awaiters<YieldAwaitable.YieldAwaiter>.Register!(ref awaiter, continuation);
}
