using EnumerableAsyncProcessor.Extensions;

namespace Weir.Lab.Suites.Peers;

/// <summary>
/// EnumerableAsyncProcessor as its page recommends: a processor with as many workers as the limit, which is disposed of. Its delegates return tasks, and it
/// reads a synchronous source to the end before the first call.
/// </summary>
internal static class AsyncProcessor
{
    /// <summary>Results in source order, as an array.</summary>
    public static async Task<TResult[]> RunAsync<T, TResult>(IEnumerable<T> items, int limit, Func<T, CancellationToken, ValueTask<TResult>> call)
    {
        await using var processor = items.SelectAsync((item, token) => call(item, token).AsTask(), CancellationToken.None).ProcessInParallel(limit);
        return await processor.GetResultsAsync();
    }

    /// <summary>No results.</summary>
    public static async Task ForEachAsync<T>(IEnumerable<T> items, int limit, Func<T, CancellationToken, ValueTask> action)
    {
        await using var processor = items.ForEachAsync((item, token) => action(item, token).AsTask(), CancellationToken.None).ProcessInParallel(limit);
        await processor.WaitAsync();
    }

    /// <summary>No results, over an asynchronous source, which is read as the workers need it.</summary>
    public static Task ForEachAsync<T>(IAsyncEnumerable<T> items, int limit, Func<T, CancellationToken, ValueTask> action) =>
        items.ForEachAsync((item, token) => action(item, token).AsTask(), CancellationToken.None).ProcessInParallel(limit).ExecuteAsync();

    /// <summary>Results as they come.</summary>
    public static async IAsyncEnumerable<TResult> Stream<T, TResult>(
        IEnumerable<T> items, int limit, Func<T, CancellationToken, ValueTask<TResult>> call)
    {
        await using var processor = items.SelectAsync((item, token) => call(item, token).AsTask(), CancellationToken.None).ProcessInParallel(limit);
        await foreach (TResult result in processor.GetResultsAsyncEnumerable())
        {
            yield return result;
        }
    }

    /// <summary>Results in source order, the only one that it has over an asynchronous source.</summary>
    public static IAsyncEnumerable<TResult> Stream<T, TResult>(
        IAsyncEnumerable<T> items, int limit, Func<T, CancellationToken, ValueTask<TResult>> call) =>
        items.SelectAsync((item, token) => call(item, token).AsTask(), CancellationToken.None).ProcessInParallel(limit).ExecuteAsync();
}
