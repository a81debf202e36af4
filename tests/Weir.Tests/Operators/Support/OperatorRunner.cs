using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Tests.Operators.Support;

internal static class OperatorRunner
{
    public static bool IsOrdered(this OperatorFamily family) =>
        family is OperatorFamily.List or OperatorFamily.OrderedStream or OperatorFamily.BatchList or OperatorFamily.Outcomes;

    public static bool IsStream(this OperatorFamily family) =>
        family is OperatorFamily.Stream or OperatorFamily.OrderedStream or OperatorFamily.BatchStream;

    /// <summary>Calls the operator, and gathers what it gives.</summary>
    public static Task<List<int>> RunAsync(
        this OperatorFamily family,
        TestSource source,
        Func<int, CancellationToken, ValueTask<int>> selector,
        ParallelRunOptions? options = null,
        CancellationToken token = default) => family switch
        {
            OperatorFamily.List => source.ListAsync(selector, options, token),
            OperatorFamily.ForEach => ForEachAsync(source, selector, options, token),
            OperatorFamily.BatchList => source.BatchListAsync(1, (batch, stop) => selector(batch.Single(), stop), options, token),
            OperatorFamily.Outcomes => SuccessesAsync(source.OutcomesAsync(selector, options, token)),
            _ => GatherAsync(family.Open(source, selector, options, token)),
        };

    /// <summary>Opens the stream of a family that is one.</summary>
    public static IAsyncEnumerable<int> Open(
        this OperatorFamily family,
        TestSource source,
        Func<int, CancellationToken, ValueTask<int>> selector,
        ParallelRunOptions? options = null,
        CancellationToken token = default) => family switch
        {
            OperatorFamily.Stream => source.Stream(selector, options, token),
            OperatorFamily.OrderedStream => source.Stream(selector, (options ?? new()) with { OrderedOutput = true }, token),
            OperatorFamily.BatchStream => source.BatchStream(1, (batch, stop) => selector(batch.Single(), stop), options, null, token),
            _ => throw new UnreachableException(),
        };

    public static async Task<List<T>> GatherAsync<T>(IAsyncEnumerable<T> stream)
    {
        List<T> results = [];
        await foreach (T result in stream.ConfigureAwait(false))
        {
            results.Add(result);
        }

        return results;
    }

    /// <summary>Gathers a stream of outcomes in source order, and checks that each index comes once.</summary>
    public static async Task<ItemOutcome<int, int>[]> GatherOutcomesAsync(IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream)
    {
        (int Index, ItemOutcome<int, int> Outcome)[] all = [.. (await GatherAsync(stream).ConfigureAwait(false)).OrderBy(static o => o.Index)];
        Assert.Equal(Enumerable.Range(0, all.Length), all.Select(static o => o.Index));
        return [.. all.Select(static o => o.Outcome)];
    }

    public static Task<List<int>> ListAsync(
        this TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, ParallelRunOptions? options, CancellationToken token) =>
        source.Sequence?.SelectParallelAsync(selector, options, token)
        ?? source.AsyncSequence?.SelectParallelAsync(selector, options, token)
        ?? source.Channel!.SelectParallelAsync(selector, options, token);

    /// <summary>Gathers the outcomes, and checks that each has its item, however it ended.</summary>
    public static Task<ItemOutcome<int, int>[]> OutcomesAsync(
        this TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, ParallelRunOptions? options = null, CancellationToken token = default) =>
        CheckedAsync(
            source,
            source.Sequence?.SelectParallelOutcomesAsync(selector, options, token)
                ?? source.AsyncSequence?.SelectParallelOutcomesAsync(selector, options, token)
                ?? source.Channel!.SelectParallelOutcomesAsync(selector, options, token));

    private static async Task<ItemOutcome<int, int>[]> CheckedAsync(TestSource source, Task<ItemOutcome<int, int>[]> running)
    {
        ItemOutcome<int, int>[] outcomes = await running.ConfigureAwait(false);
        if (source.IsNumbered)
        {
            Assert.Equal(Enumerable.Range(0, outcomes.Length), outcomes.Select(static o => o.Item));
        }

        return outcomes;
    }

    /// <summary>The stream of the outcomes, which checks that each has its item, however it ended.</summary>
    public static async IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> OutcomesStream(
        this TestSource source,
        Func<int, CancellationToken, ValueTask<int>> selector,
        ParallelRunOptions? options = null,
        CancellationToken token = default,
        [EnumeratorCancellation] CancellationToken enumeration = default)
    {
        await foreach ((int index, ItemOutcome<int, int> outcome) in source.OpenOutcomes(selector, options, token)
            .WithCancellation(enumeration).ConfigureAwait(false))
        {
            Assert.True(!source.IsNumbered || index == outcome.Item);
            yield return (index, outcome);
        }
    }

    private static IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> OpenOutcomes(
        this TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, ParallelRunOptions? options = null, CancellationToken token = default) =>
        source.Sequence?.SelectParallelOutcomesStreamAsync(selector, options, token)
        ?? source.AsyncSequence?.SelectParallelOutcomesStreamAsync(selector, options, token)
        ?? source.Channel!.SelectParallelOutcomesStreamAsync(selector, options, token);

    public static IAsyncEnumerable<int> Stream(
        this TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, ParallelRunOptions? options = null, CancellationToken token = default) =>
        source.Sequence?.SelectParallelStreamAsync(selector, options, token)
        ?? source.AsyncSequence?.SelectParallelStreamAsync(selector, options, token)
        ?? source.Channel!.SelectParallelStreamAsync(selector, options, token);

    public static Task EachBatchAsync(
        this TestSource source, int size, Func<IReadOnlyList<int>, CancellationToken, ValueTask> action, ParallelRunOptions? options = null,
        CancellationToken token = default) =>
        source.Sequence?.ForEachBatchParallelAsync(size, action, options, null, token)
        ?? source.AsyncSequence?.ForEachBatchParallelAsync(size, action, options, null, token)
        ?? source.Channel!.ForEachBatchParallelAsync(size, action, options, null, token);

    public static Task<List<T>> BatchListAsync<T>(
        this TestSource source, int size, Func<IReadOnlyList<int>, CancellationToken, ValueTask<T>> selector, ParallelRunOptions? options = null,
        CancellationToken token = default) =>
        source.Sequence?.BatchParallelAsync(size, selector, options, token)
        ?? source.AsyncSequence?.BatchParallelAsync(size, selector, options, token)
        ?? source.Channel!.BatchParallelAsync(size, selector, options, token);

    public static IAsyncEnumerable<T> BatchStream<T>(
        this TestSource source,
        int size,
        Func<IReadOnlyList<int>, CancellationToken, ValueTask<T>> selector,
        ParallelRunOptions? options = null,
        TimeSpan? timeout = null,
        CancellationToken token = default) =>
        source.Sequence?.BatchParallelStreamAsync(size, selector, options, timeout, token)
        ?? source.AsyncSequence?.BatchParallelStreamAsync(size, selector, options, timeout, token)
        ?? source.Channel!.BatchParallelStreamAsync(size, selector, options, timeout, token);

    private static async Task<List<int>> ForEachAsync(
        TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, ParallelRunOptions? options, CancellationToken token)
    {
        ConcurrentQueue<int> results = [];
        Func<int, CancellationToken, ValueTask> action = (item, stop) =>
        {
            ValueTask<int> pending = selector(item, stop);
            if (pending.IsCompletedSuccessfully)
            {
                results.Enqueue(pending.Result);
                return default;
            }

            return Awaited(pending);
        };
        await (source.Sequence?.ForEachParallelAsync(action, options, token)
            ?? source.AsyncSequence?.ForEachParallelAsync(action, options, token)
            ?? source.Channel!.ForEachParallelAsync(action, options, token)).ConfigureAwait(false);
        return [.. results];

        async ValueTask Awaited(ValueTask<int> pending) => results.Enqueue(await pending.ConfigureAwait(false));
    }

    private static async Task<List<int>> SuccessesAsync(Task<ItemOutcome<int, int>[]> outcomes) =>
        [.. (await outcomes.ConfigureAwait(false)).Where(static o => o.IsSuccess).Select(static o => o.Value)];
}
