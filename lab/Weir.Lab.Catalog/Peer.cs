using System.Runtime.CompilerServices;
using Weir.Lab.Results;

namespace Weir.Lab.Catalog;

/// <summary>
/// A row of the catalogue of peers: the usual code without Weir's operators and without a package, over the items of an array. The peers that come in packages
/// are in the suites.
/// </summary>
/// <param name="Name">The name in reports.</param>
/// <param name="RunAsync">Runs the items, at most so many at once, and gives their results in input order. The token stops it.</param>
internal sealed record Peer(string Name, Func<int[], int, ItemCall, CancellationToken, Task<int[]>> RunAsync)
{
    /// <summary>The plain loop, to which ratios are taken.</summary>
    public static Peer Loop { get; } = new(PassFigures.Loop, static (items, _, call, token) => AwaitLoop.StoppableAsync(items, call, token));

    /// <summary>The platform's own way.</summary>
    public static Peer ForEachAsync { get; } =
        new(PassFigures.ForEachAsync, static (items, limit, call, token) => Catalog.ForEachAsync.RunAsync(items, items.Length, limit, call, token));

    /// <summary>All of them, the plain loop first. A peer is a class, and a row here.</summary>
    public static IReadOnlyList<Peer> All { get; } =
    [
        Loop,
        ForEachAsync,
        new("channel + workers", static (items, limit, call, token) => ChannelWorkers.RunAsync(items, items.Length, limit, call, token)),
        new("ActionBlock", InBoxActionBlock.RunAsync),
        new("Weir ActionBlock", WeirActionBlock.RunAsync),
        new("WhenAll + semaphore", static (items, limit, call, token) => TaskWhenAll.WithSemaphoreAsync(items, limit, call, token)),
    ];

    /// <summary>How many items are under way at once.</summary>
    public int DegreeOf(int limit) => this == Loop ? 1 : limit;
}

/// <summary>A plain loop that awaits each item. Arrays and lists are looped over as such, because that is what one would write.</summary>
internal static class AwaitLoop
{
    public static Task<List<int>> RunAsync(IEnumerable<int> source, int count, ItemCall call) => source switch
    {
        int[] array => OverArray(array, call),
        List<int> list => OverList(list, call),
        _ => OverSequence(source, count, call),
    };

    public static async IAsyncEnumerable<int> Stream(IEnumerable<int> source, ItemCall call)
    {
        foreach (int item in source)
        {
            yield return await call(item, CancellationToken.None);
        }
    }

    public static async IAsyncEnumerable<int> Stream(IAsyncEnumerable<int> source, ItemCall call)
    {
        await foreach (int item in source)
        {
            yield return await call(item, CancellationToken.None);
        }
    }

    /// <summary>Awaits one call after the other, and can be cancelled between two items.</summary>
    public static async Task<int[]> StoppableAsync(int[] source, ItemCall call, CancellationToken token)
    {
        int[] results = new int[source.Length];
        for (int i = 0; i < source.Length; i++)
        {
            token.ThrowIfCancellationRequested();
            results[i] = await call(source[i], token);
        }

        return results;
    }

    private static async Task<List<int>> OverArray(int[] source, ItemCall call)
    {
        List<int> results = new(source.Length);
        foreach (int item in source)
        {
            results.Add(await call(item, CancellationToken.None));
        }

        return results;
    }

    private static async Task<List<int>> OverList(List<int> source, ItemCall call)
    {
        List<int> results = new(source.Count);
        foreach (int item in source)
        {
            results.Add(await call(item, CancellationToken.None));
        }

        return results;
    }

    private static async Task<List<int>> OverSequence(IEnumerable<int> source, int count, ItemCall call)
    {
        List<int> results = new(count);
        foreach (int item in source)
        {
            results.Add(await call(item, CancellationToken.None));
        }

        return results;
    }
}

/// <summary><c>Task.WhenAll</c> over a task per item, without and with a limit.</summary>
internal static class TaskWhenAll
{
    public static Task<int[]> UnboundedAsync(IEnumerable<int> source, ItemCall call) =>
        Task.WhenAll(source.Select(item => call(item, CancellationToken.None).AsTask()));

    public static async Task<int[]> WithSemaphoreAsync(IEnumerable<int> source, int limit, ItemCall call, CancellationToken token = default)
    {
        using SemaphoreSlim semaphore = new(limit);
        return await Task.WhenAll(source.Select(OneAsync));

        async Task<int> OneAsync(int item)
        {
            await semaphore.WaitAsync(token);
            try
            {
                return await call(item, token);
            }
            finally
            {
                semaphore.Release();
            }
        }
    }
}

/// <summary><c>Parallel.ForEachAsync</c>, made to keep its results in source order: each body writes at its item's index.</summary>
internal static class ForEachAsync
{
    /// <remarks>The array is made with the true count also for a lazy source; that favours this peer.</remarks>
    public static async Task<int[]> RunAsync(IEnumerable<int> source, int count, int limit, ItemCall call, CancellationToken token = default)
    {
        int[] results = new int[count];
        ParallelOptions options = new() { MaxDegreeOfParallelism = limit, CancellationToken = token };
        if (source is IList<int> items)
        {
            await Parallel.ForEachAsync(
                Enumerable.Range(0, count),
                options,
                async (index, stop) => results[index] = await call(items[index], stop));
        }
        else
        {
            await Parallel.ForEachAsync(
                source.Index(),
                options,
                async (pair, stop) => results[pair.Index] = await call(pair.Item, stop));
        }

        return results;
    }
}

/// <summary>A bounded channel read by a fixed number of workers: the usual hand-written answer.</summary>
internal static class ChannelWorkers
{
    private const int Capacity = 1024;

    public static async Task<int[]> RunAsync(IEnumerable<int> source, int count, int limit, ItemCall call, CancellationToken token = default)
    {
        int[] results = new int[count];
        Channel<(int Index, int Item)> channel = Channel.CreateBounded<(int Index, int Item)>(new BoundedChannelOptions(Capacity) { SingleWriter = true });
        Task[] workers = new Task[limit];
        for (int i = 0; i < limit; i++)
        {
            workers[i] = Task.Run(WorkAsync, CancellationToken.None);
        }

        int written = 0;
        Exception? failure = null;
        try
        {
            foreach (int item in source)
            {
                await channel.Writer.WriteAsync((written++, item), token);
            }
        }
        catch (Exception exception)
        {
            failure = exception;
        }

        channel.Writer.TryComplete(failure);
        await Task.WhenAll(workers);
        return results;

        async Task WorkAsync()
        {
            try
            {
                await foreach ((int index, int item) in channel.Reader.ReadAllAsync(token))
                {
                    results[index] = await call(item, token);
                }
            }
            catch (Exception exception)
            {
                // Otherwise, the writer would wait forever for a worker that has ended.
                channel.Writer.TryComplete(exception);
                throw;
            }
        }
    }

    public static IAsyncEnumerable<int> Stream(IEnumerable<int> source, int limit, ItemCall call) =>
        StreamCore(
            async (writer, token) =>
            {
                foreach (int item in source)
                {
                    await writer.WriteAsync(item, token);
                }
            },
            limit,
            call);

    public static IAsyncEnumerable<int> Stream(IAsyncEnumerable<int> source, int limit, ItemCall call) =>
        StreamCore(
            async (writer, token) =>
            {
                await foreach (int item in source.WithCancellation(token))
                {
                    await writer.WriteAsync(item, token);
                }
            },
            limit,
            call);

    // Correct also when the consumer leaves early: what it started is cancelled and awaited. Results come in the order of completion.
    private static async IAsyncEnumerable<int> StreamCore(
        Func<ChannelWriter<int>, CancellationToken, Task> write,
        int limit,
        ItemCall call,
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        Channel<int> input = Channel.CreateBounded<int>(new BoundedChannelOptions(Capacity) { SingleWriter = true });
        Channel<int> output = Channel.CreateBounded<int>(new BoundedChannelOptions(Capacity) { SingleReader = true });
        Task all = Task.Run(RunAllAsync, CancellationToken.None);
        try
        {
            // Ends when the workers have ended, with the failure of the first of them.
            await foreach (int result in output.Reader.ReadAllAsync(CancellationToken.None))
            {
                yield return result;
            }
        }
        finally
        {
            await stop.CancelAsync();
            await all;
        }

        async Task RunAllAsync()
        {
            Task[] workers = new Task[limit];
            for (int i = 0; i < limit; i++)
            {
                workers[i] = Task.Run(WorkAsync, CancellationToken.None);
            }

            Exception? failure = null;
            try
            {
                await write(input.Writer, stop.Token);
            }
            catch (Exception exception)
            {
                failure = exception;
            }

            input.Writer.Complete();
            Task work = Task.WhenAll(workers);
            await work.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            output.Writer.Complete(work.Exception?.InnerException ?? failure);
        }

        async Task WorkAsync()
        {
            try
            {
                await foreach (int item in input.Reader.ReadAllAsync(stop.Token))
                {
                    await output.Writer.WriteAsync(await call(item, stop.Token), stop.Token);
                }
            }
            catch
            {
                // Otherwise, the writer would wait for room forever.
                await stop.CancelAsync();
                throw;
            }
        }
    }
}
