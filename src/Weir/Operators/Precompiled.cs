using Weir.Core.Sinks;
using Weir.Policies;

namespace Weir.Operators;

/// <summary>
/// Never called: names the calls that are compiled ahead of time together with this assembly, as <see cref="Core.Dispatch.Precompiled"/> names the runs of
/// the engine: for references, which share their code, and for numbers.
/// </summary>
internal static class Precompiled
{
    private static readonly Type[] Types =
    [
        typeof(RunRecovery<object>), typeof(RunRecovery<int>), typeof(RunRecovery<Nothing>),
    ];

    public static void All(object[] objects, int[] numbers, ParallelRunOptions options)
    {
        _ = Types;
        Calls<object, object>(objects, options);
        Calls<object, int>(objects, options);
        Calls<int, object>(numbers, options);
        Calls<int, int>(numbers, options);
        Actions(objects, options);
        Actions(numbers, options);
    }

    private static void Calls<TItem, TResult>(TItem[] items, ParallelRunOptions options)
    {
        Func<TItem, CancellationToken, ValueTask<TResult>> call = static (_, _) => default;
        Func<TItem, CancellationToken, Task<TResult>> task = static (_, _) => Task.FromResult<TResult>(default!);
        _ = items.SelectParallelAsync(call, options);
        _ = items.SelectParallelAsync(task, options);
        _ = items.SelectParallelOutcomesAsync(call, options);
        _ = items.SelectParallelStreamAsync(call, options).GetAsyncEnumerator();
        _ = items.BatchParallelAsync(1, static (_, _) => default(ValueTask<TResult>), options);
        _ = items.BatchParallelStreamAsync(1, static (_, _) => default(ValueTask<TResult>), options).GetAsyncEnumerator();
    }

    private static void Actions<TItem>(TItem[] items, ParallelRunOptions options)
    {
        Func<TItem, CancellationToken, ValueTask> action = static (_, _) => default;
        Func<TItem, CancellationToken, Task> task = static (_, _) => Task.CompletedTask;
        _ = items.ForEachParallelAsync(action, options);
        _ = items.ForEachParallelAsync(task, options);
    }
}
