namespace Weir.Lab.Suites.Peers;

/// <summary>Items of a key one at a time and in order, with a limit on all items: the two usual hand-written ways.</summary>
internal static class KeyedByHand
{
    /// <summary>
    /// A semaphore for each key, and one for all. The semaphores are first-in, first-out, so starting the items in order keeps them in order.
    /// </summary>
    public static async Task<int[]> SemaphorePerKeyAsync(int[] source, int limit, Func<int, int> keyOf, ItemCall call)
    {
        int[] results = new int[source.Length];
        Task[] tasks = new Task[source.Length];
        Dictionary<int, SemaphoreSlim> keys = [];
        using SemaphoreSlim all = new(limit);
        for (int i = 0; i < source.Length; i++)
        {
            int key = keyOf(source[i]);
            if (!keys.TryGetValue(key, out SemaphoreSlim? one))
            {
                keys.Add(key, one = new SemaphoreSlim(1));
            }

            tasks[i] = RunAsync(i, one);
        }

        await Task.WhenAll(tasks);
        foreach (SemaphoreSlim one in keys.Values)
        {
            one.Dispose();
        }

        return results;

        async Task RunAsync(int index, SemaphoreSlim one)
        {
            // The key's before the limit's: an item that waits for its key takes no permit of another.
            await one.WaitAsync();
            await all.WaitAsync();
            try
            {
                results[index] = await call(source[index], CancellationToken.None);
            }
            finally
            {
                all.Release();
                one.Release();
            }
        }
    }

    /// <summary>A channel for each key with a worker that reads it, and a semaphore for all.</summary>
    public static async Task<int[]> ChannelPerKeyAsync(int[] source, int limit, Func<int, int> keyOf, ItemCall call)
    {
        int[] results = new int[source.Length];
        Dictionary<int, Channel<int>> keys = [];
        List<Task> workers = [];
        using SemaphoreSlim all = new(limit);
        for (int i = 0; i < source.Length; i++)
        {
            int key = keyOf(source[i]);
            if (!keys.TryGetValue(key, out Channel<int>? channel))
            {
                keys.Add(key, channel = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true, SingleWriter = true }));
                ChannelReader<int> reader = channel.Reader;
                workers.Add(Task.Run(() => WorkAsync(reader)));
            }

            await channel.Writer.WriteAsync(i);
        }

        foreach (Channel<int> channel in keys.Values)
        {
            channel.Writer.Complete();
        }

        await Task.WhenAll(workers);
        return results;

        async Task WorkAsync(ChannelReader<int> reader)
        {
            await foreach (int index in reader.ReadAllAsync())
            {
                await all.WaitAsync();
                try
                {
                    results[index] = await call(source[index], CancellationToken.None);
                }
                finally
                {
                    all.Release();
                }
            }
        }
    }
}
