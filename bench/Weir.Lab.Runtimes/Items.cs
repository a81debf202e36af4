using Weir.Resilience;

namespace Weir.Lab.Runtimes;

/// <summary>The items, what is done with one, and each way to do it for all; a way gives the sum of the results.</summary>
internal static class Items
{
    /// <summary>What the doubled items add up to.</summary>
    public static long SumOf(int count) => (long)count * (count + 1);

    public static ValueTask<int> TwiceAsync(int item, CancellationToken token) => new(item * 2);

    /// <summary>Waits like a call to a server. Its real length is some ticks of the timer.</summary>
    public static Func<int, CancellationToken, ValueTask<int>> Delaying(int milliseconds) => async (item, token) =>
    {
        await Task.Delay(milliseconds, token);
        return item * 2;
    };

    /// <summary>Throws for one item in <paramref name="oneIn"/>, the first <paramref name="times"/> times.</summary>
    public static Func<int, CancellationToken, ValueTask<int>> Failing(int oneIn, int times, int count)
    {
        int[] attempts = new int[count + 1];
        return (item, _) => item % oneIn == 0 && Interlocked.Increment(ref attempts[item]) <= times
            ? throw new InvalidOperationException("Not yet.")
            : new ValueTask<int>(item * 2);
    }

    public static ParallelRunOptions Limit(int limit) => new() { MaxDegreeOfParallelism = limit };

    public static ParallelRunOptions Retrying(BackoffStrategy strategy) => Limit(8) with
    {
        MaxRetries = 3,
        BaseDelay = TimeSpan.FromMilliseconds(1),
        BackoffStrategy = strategy,
        IsTransient = static e => e is InvalidOperationException,
    };

    public static async Task<long> ListAsync(int count, Func<int, CancellationToken, ValueTask<int>> call, ParallelRunOptions options) =>
        Sum(await Enumerable.Range(1, count).SelectParallelAsync(call, options));

    public static async Task<long> StreamAsync(int count, ParallelRunOptions options)
    {
        long sum = 0;
        await foreach (int result in OneByOneAsync(count).SelectParallelStreamAsync(TwiceAsync, options))
        {
            sum += result;
        }

        return sum;
    }

    public static async Task<long> ForEachAsync(int count, ParallelRunOptions options)
    {
        long sum = 0;
        await OneByOneAsync(count).ForEachParallelAsync(
            (item, _) =>
            {
                Interlocked.Add(ref sum, item * 2);
                return default;
            },
            options);
        return sum;
    }

    public static async Task<long> BatchesAsync(int count, int size) =>
        Sum(await Enumerable.Range(1, count).BatchParallelAsync(size, BatchAsync, Limit(4)));

    public static async Task<long> BatchStreamAsync(int count, int size)
    {
        long sum = 0;
        await foreach (int result in OneByOneAsync(count).BatchParallelStreamAsync(size, BatchAsync, Limit(4)))
        {
            sum += result;
        }

        return sum;
    }

    /// <summary>The platform's parallel loop, which keeps its results in order: each body writes at its item's index.</summary>
    public static async Task<long> PlatformAsync(int count, Func<int, CancellationToken, ValueTask<int>> call, int limit)
    {
        int[] results = new int[count];
        await Parallel.ForEachAsync(
            Enumerable.Range(1, count),
            new ParallelOptions { MaxDegreeOfParallelism = limit },
            async (item, token) => results[item - 1] = await call(item, token));
        return Sum(results);
    }

    /// <summary>The platform's parallel loop with a loop of retries in each body.</summary>
    public static Task<long> PlatformRetryingAsync(int count, Func<int, CancellationToken, ValueTask<int>> call) => PlatformAsync(
        count,
        async (item, token) =>
        {
            for (int attempt = 0; ; attempt++)
            {
                try
                {
                    return await call(item, token);
                }
                catch (InvalidOperationException) when (attempt < 3)
                {
                    await Task.Delay(1 << attempt, token);
                }
            }
        },
        limit: 8);

    /// <summary>The platform's parallel loop over an asynchronous source; the results are added up.</summary>
    public static async Task<long> PlatformOneByOneAsync(int count)
    {
        long sum = 0;
        await Parallel.ForEachAsync(
            OneByOneAsync(count),
            new ParallelOptions { MaxDegreeOfParallelism = 8 },
            (item, _) =>
            {
                Interlocked.Add(ref sum, item * 2);
                return default;
            });
        return sum;
    }

    /// <summary>The platform's chunks and its parallel loop.</summary>
    public static async Task<long> PlatformBatchesAsync(int count, int size)
    {
        long sum = 0;
        await Parallel.ForEachAsync(
            Enumerable.Range(1, count).Chunk(size),
            new ParallelOptions { MaxDegreeOfParallelism = 4 },
            async (batch, token) => Interlocked.Add(ref sum, await BatchAsync(batch, token)));
        return sum;
    }

    public static async Task<long> SequentialAsync(int count, Func<int, CancellationToken, ValueTask<int>> call)
    {
        long sum = 0;
        foreach (int item in Enumerable.Range(1, count))
        {
            sum += await call(item, CancellationToken.None);
        }

        return sum;
    }

    public static async Task<long> WhenAllAsync(int count, Func<int, CancellationToken, ValueTask<int>> call) =>
        Sum(await Task.WhenAll(Enumerable.Range(1, count).Select(item => call(item, CancellationToken.None).AsTask())));

    private static async ValueTask<int> BatchAsync(IReadOnlyList<int> batch, CancellationToken token)
    {
        await Task.Delay(5, token);
        int sum = 0;
        for (int i = 0; i < batch.Count; i++)
        {
            sum += batch[i] * 2;
        }

        return sum;
    }

    private static async IAsyncEnumerable<int> OneByOneAsync(int count)
    {
        for (int i = 1; i <= count; i++)
        {
            yield return i;
        }

        await Task.CompletedTask;
    }

    private static long Sum(IReadOnlyList<int> results)
    {
        long sum = 0;
        for (int i = 0; i < results.Count; i++)
        {
            sum += results[i];
        }

        return sum;
    }
}
