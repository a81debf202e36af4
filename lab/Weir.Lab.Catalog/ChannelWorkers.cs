using System.Runtime.CompilerServices;

namespace Weir.Lab.Catalog;

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
