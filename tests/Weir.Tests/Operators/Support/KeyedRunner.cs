using System.Collections.Concurrent;

namespace Weir.Tests.Operators.Support;

/// <summary>The operators with a key for each item, seen like those of <see cref="OperatorRunner"/>.</summary>
internal static class KeyedRunner
{
    public static Task<List<int>> RunKeyedAsync<TKey>(
        this OperatorFamily family,
        TestSource source,
        Func<int, CancellationToken, ValueTask<int>> selector,
        Func<int, TKey> keyOf,
        ParallelRunOptions? options = null,
        CancellationToken token = default)
        where TKey : notnull => family switch
        {
            OperatorFamily.List => source.Sequence?.PartitionBy(keyOf).SelectParallelAsync(selector, options, token)
                ?? source.AsyncSequence?.PartitionBy(keyOf).SelectParallelAsync(selector, options, token)
                ?? source.Channel!.PartitionBy(keyOf).SelectParallelAsync(selector, options, token),
            OperatorFamily.ForEach => ForEachAsync(source, selector, keyOf, options, token),
            OperatorFamily.BatchList =>
                source.Sequence?.PartitionBatchesBy(KeyOfBatch(keyOf)).BatchParallelAsync(1, OfBatch(selector), options, token)
                ?? source.AsyncSequence?.PartitionBatchesBy(KeyOfBatch(keyOf)).BatchParallelAsync(1, OfBatch(selector), options, token)
                ?? source.Channel!.PartitionBatchesBy(KeyOfBatch(keyOf)).BatchParallelAsync(1, OfBatch(selector), options, token),
            OperatorFamily.Outcomes => SuccessesAsync(
                source.Sequence?.PartitionBy(keyOf).SelectParallelOutcomesAsync(selector, options, token)
                ?? source.AsyncSequence?.PartitionBy(keyOf).SelectParallelOutcomesAsync(selector, options, token)
                ?? source.Channel!.PartitionBy(keyOf).SelectParallelOutcomesAsync(selector, options, token)),
            OperatorFamily.BatchStream => OperatorRunner.GatherAsync(
                source.Sequence?.PartitionBatchesBy(KeyOfBatch(keyOf)).BatchParallelStreamAsync(1, OfBatch(selector), options, null, token)
                ?? source.AsyncSequence?.PartitionBatchesBy(KeyOfBatch(keyOf)).BatchParallelStreamAsync(1, OfBatch(selector), options, null, token)
                ?? source.Channel!.PartitionBatchesBy(KeyOfBatch(keyOf)).BatchParallelStreamAsync(1, OfBatch(selector), options, null, token)),
            _ => StreamAsync(source, selector, keyOf, (options ?? new()) with { OrderedOutput = family == OperatorFamily.OrderedStream }, token),
        };

    private static Func<IReadOnlyList<int>, CancellationToken, ValueTask<int>> OfBatch(Func<int, CancellationToken, ValueTask<int>> selector) =>
        (batch, stop) => selector(batch.Single(), stop);

    private static Func<IReadOnlyList<int>, TKey> KeyOfBatch<TKey>(Func<int, TKey> keyOf) => batch => keyOf(batch.Single());

    private static Task<List<int>> StreamAsync<TKey>(
        TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, Func<int, TKey> keyOf, ParallelRunOptions options, CancellationToken token)
        where TKey : notnull => OperatorRunner.GatherAsync(
            source.Sequence?.PartitionBy(keyOf).SelectParallelStreamAsync(selector, options, token)
            ?? source.AsyncSequence?.PartitionBy(keyOf).SelectParallelStreamAsync(selector, options, token)
            ?? source.Channel!.PartitionBy(keyOf).SelectParallelStreamAsync(selector, options, token));

    private static async Task<List<int>> ForEachAsync<TKey>(
        TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, Func<int, TKey> keyOf, ParallelRunOptions? options, CancellationToken token)
        where TKey : notnull
    {
        ConcurrentQueue<int> results = [];
        Func<int, CancellationToken, ValueTask> action = async (item, stop) => results.Enqueue(await selector(item, stop).ConfigureAwait(false));
        await (source.Sequence?.PartitionBy(keyOf).ForEachParallelAsync(action, options, token)
            ?? source.AsyncSequence?.PartitionBy(keyOf).ForEachParallelAsync(action, options, token)
            ?? source.Channel!.PartitionBy(keyOf).ForEachParallelAsync(action, options, token)).ConfigureAwait(false);
        return [.. results];
    }

    private static async Task<List<int>> SuccessesAsync(Task<ItemOutcome<int, int>[]> outcomes) =>
        [.. (await outcomes.ConfigureAwait(false)).Where(static o => o.IsSuccess).Select(static o => o.Value)];
}
