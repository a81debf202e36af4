namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>
/// The programs of the grid as one writes them by hand: tasks that read and write channels. The channel that takes what is sent has the block's bound; what
/// goes to the last reader has none, as the block at the end has none. Each gives the sum of what arrived.
/// </summary>
internal static class ChannelGrid
{
    /// <summary>Runs the program of a cell once.</summary>
    public static Task<long> RunAsync(GridCell cell) => cell.Block switch
    {
        GridBlock.Action => ActionAsync(cell),
        GridBlock.Transform => TransformAsync(cell),
        GridBlock.TransformMany => TransformManyAsync(cell),
        GridBlock.Buffer => BufferAsync(cell),
        GridBlock.Broadcast => BroadcastAsync(cell),
        GridBlock.WriteOnce => WriteOnceAsync(cell),
        GridBlock.Batch => BatchAsync(cell),
        GridBlock.Join2 => JoinAsync(cell, 2, static (int[] items, CellSum sum) => sum.AddPair(Tuple.Create(items[0], items[1]))),
        GridBlock.Join3 => JoinAsync(cell, 3, static (int[] items, CellSum sum) => sum.AddTriple(Tuple.Create(items[0], items[1], items[2]))),
        _ => BatchedJoinAsync(cell),
    };

    private static async Task<long> ActionAsync(GridCell cell)
    {
        CellSum sum = new();
        Channel<int> input = Open<int>(cell, readers: cell.Degree);
        Task readers = cell.Yields
            ? Workers(cell.Degree, () => ReadAsync(input.Reader, sum.AddYieldingAsync))
            : Workers(cell.Degree, () => ReadAsync(input.Reader, cell.Degree == 1 ? sum.Add : sum.AddShared));
        await cell.SendAsync(Input(input));
        input.Writer.Complete();
        await readers;
        return sum.Value;
    }

    private static Task<long> TransformAsync(GridCell cell) => CallsAsync<int>(
        cell,
        static i => i,
        static async i =>
        {
            await Task.Yield();
            return i;
        },
        static (sum, i) => sum.Add(i));

    private static Task<long> TransformManyAsync(GridCell cell) => CallsAsync<int[]>(
        cell,
        static i => [i, i],
        static async i =>
        {
            await Task.Yield();
            return [i, i];
        },
        static (sum, many) => sum.AddAll(many));

    /// <summary>Workers that call and write what the call gives; in order, one loop that begins the calls and another that awaits them in their order.</summary>
    private static async Task<long> CallsAsync<T>(GridCell cell, Func<int, T> call, Func<int, Task<T>> yieldingCall, Action<CellSum, T> take)
    {
        CellSum sum = new();
        bool isOrdered = cell.IsOrdered && cell.Degree > 1;
        Channel<int> input = Open<int>(cell, readers: isOrdered ? 1 : cell.Degree);
        Task sink;
        Task workers;
        if (isOrdered)
        {
            // The one that is awaited, and the one that waits to be written, are begun as well.
            Channel<Task<T>> begun = Channel.CreateBounded<Task<T>>(cell.Degree - 2);
            sink = Task.Run(() => ReadAsync(begun.Reader, async calling => take(sum, await calling)));
            workers = Task.Run(async () =>
            {
                await foreach (int item in input.Reader.ReadAllAsync())
                {
                    await begun.Writer.WriteAsync(cell.Yields ? yieldingCall(item) : Task.Run(() => call(item)));
                }

                begun.Writer.Complete();
            });
        }
        else
        {
            Channel<T> output = Unbounded<T>();
            sink = Task.Run(() => ReadAsync(output.Reader, result => take(sum, result)));
            workers = EndAsync(
                cell.Yields
                    ? Workers(cell.Degree, () => ReadAsync(input.Reader, async i => output.Writer.TryWrite(await yieldingCall(i))))
                    : Workers(cell.Degree, () => ReadAsync(input.Reader, i => output.Writer.TryWrite(call(i)))),
                output);
        }

        await cell.SendAsync(Input(input));
        input.Writer.Complete();
        await workers;
        await sink;
        return sum.Value;
    }

    private static async Task<long> BufferAsync(GridCell cell)
    {
        CellSum sum = new();
        Channel<int> input = Open<int>(cell);
        Task reader = Task.Run(() => ReadAsync(input.Reader, sum.Add));
        await cell.SendAsync(Input(input));
        input.Writer.Complete();
        await reader;
        return sum.Value;
    }

    private static async Task<long> BroadcastAsync(GridCell cell)
    {
        CellSum sum = new();
        CellSum other = new();
        Channel<int> input = Open<int>(cell);
        Channel<int> first = Unbounded<int>();
        Channel<int> second = Unbounded<int>();
        Task[] readers = [Task.Run(() => ReadAsync(first.Reader, sum.Add)), Task.Run(() => ReadAsync(second.Reader, other.Add))];
        Task copies = Task.Run(async () =>
        {
            await ReadAsync(
                input.Reader,
                i =>
                {
                    first.Writer.TryWrite(i);
                    second.Writer.TryWrite(i);
                });
            first.Writer.Complete();
            second.Writer.Complete();
        });
        await cell.SendAsync(Input(input));
        input.Writer.Complete();
        await copies;
        await Task.WhenAll(readers);
        return sum.Value + other.Value;
    }

    /// <summary>A promise for each message, which is awaited, and whose message goes to the reader.</summary>
    private static async Task<long> WriteOnceAsync(GridCell cell)
    {
        CellSum sum = new();
        Channel<int> output = Unbounded<int>();
        Task sink = Task.Run(() => ReadAsync(output.Reader, sum.Add));
        async Task<bool> SendAsync(int i)
        {
            TaskCompletionSource<int> once = new(TaskCreationOptions.RunContinuationsAsynchronously);
            async Task<bool> Forward() => output.Writer.TryWrite(await once.Task);
            Task<bool> forwarded = Forward();
            once.SetResult(i);
            return await forwarded;
        }

        await cell.SendAsync(new BlockInput(static _ => false, SendAsync));
        output.Writer.Complete();
        await sink;
        return sum.Value;
    }

    private static async Task<long> BatchAsync(GridCell cell)
    {
        CellSum sum = new();
        Channel<int[]> output = Unbounded<int[]>();
        Task sink = Task.Run(() => ReadAsync(output.Reader, sum.AddAll));
        Channel<int>[] inputs = [.. Enumerable.Range(0, cell.IsGreedy ? 1 : 2).Select(_ => Open<int>(cell))];
        int size = cell.BatchSize;
        Task batches = EndAsync(
            Task.Run(async () =>
            {
                int[] batch = new int[size];
                int count = 0;
                for (int input = 0; await inputs[input].Reader.WaitToReadAsync(); input = (input + 1) % inputs.Length)
                {
                    while (inputs[input].Reader.TryRead(out int item))
                    {
                        batch[count++] = item;
                        if (count == size)
                        {
                            output.Writer.TryWrite(batch);
                            (batch, count) = (new int[size], 0);
                        }

                        if (inputs.Length > 1)
                        {
                            break;
                        }
                    }
                }
            }),
            output);
        await SendAsync(cell, inputs);
        await batches;
        await sink;
        return sum.Value;
    }

    private static async Task<long> JoinAsync(GridCell cell, int count, Action<int[], CellSum> add)
    {
        CellSum sum = new();
        Channel<int[]> output = Unbounded<int[]>();
        Task sink = Task.Run(() => ReadAsync(output.Reader, items => add(items, sum)));
        Channel<int>[] inputs = [.. Enumerable.Range(0, count).Select(_ => Open<int>(cell))];
        Task joins = EndAsync(
            Task.Run(async () =>
            {
                while (await inputs[0].Reader.WaitToReadAsync())
                {
                    int[] items = new int[count];
                    for (int i = 0; i < count; i++)
                    {
                        items[i] = await inputs[i].Reader.ReadAsync();
                    }

                    output.Writer.TryWrite(items);
                }
            }),
            output);
        await SendAsync(cell, inputs);
        await joins;
        await sink;
        return sum.Value;
    }

    private static async Task<long> BatchedJoinAsync(GridCell cell)
    {
        CellSum sum = new();
        Channel<(int Input, int Item)> input = Unbounded<(int Input, int Item)>();
        Channel<Tuple<IList<int>, IList<int>>> output = Unbounded<Tuple<IList<int>, IList<int>>>();
        Task sink = Task.Run(() => ReadAsync(output.Reader, sum.AddLists));
        Task joins = EndAsync(
            Task.Run(async () =>
            {
                List<int>[] lists = [[], []];
                await ReadAsync(
                    input.Reader,
                    pair =>
                    {
                        lists[pair.Input].Add(pair.Item);
                        if (lists[0].Count + lists[1].Count == 2)
                        {
                            output.Writer.TryWrite(Tuple.Create<IList<int>, IList<int>>(lists[0], lists[1]));
                            lists = [[], []];
                        }
                    });
            }),
            output);
        BlockInput Of(int number) => new(i => input.Writer.TryWrite((number, i)), static _ => Task.FromResult(false));
        await cell.SendAsync(Of(0), Of(1));
        input.Writer.Complete();
        await joins;
        await sink;
        return sum.Value;
    }

    private static Channel<T> Open<T>(GridCell cell, int readers = 1) => cell.IsBounded
        ? Channel.CreateBounded<T>(new BoundedChannelOptions(cell.Bound) { SingleReader = readers == 1 })
        : Channel.CreateUnbounded<T>(new UnboundedChannelOptions { SingleReader = readers == 1 });

    private static Channel<T> Unbounded<T>() => Channel.CreateUnbounded<T>(new UnboundedChannelOptions { SingleReader = true });

    private static BlockInput Input(Channel<int> channel)
    {
        async Task<bool> SendAsync(int item)
        {
            await channel.Writer.WriteAsync(item);
            return true;
        }

        return new BlockInput(channel.Writer.TryWrite, SendAsync);
    }

    private static async Task SendAsync(GridCell cell, Channel<int>[] inputs)
    {
        await cell.SendAsync([.. inputs.Select(Input)]);
        Array.ForEach(inputs, static input => input.Writer.Complete());
    }

    private static async Task EndAsync<T>(Task writers, Channel<T> channel)
    {
        await writers;
        channel.Writer.Complete();
    }

    private static Task Workers(int count, Func<Task> work) => Task.WhenAll(Enumerable.Range(0, count).Select(_ => Task.Run(work)));

    private static async Task ReadAsync<T>(ChannelReader<T> reader, Action<T> action)
    {
        while (await reader.WaitToReadAsync())
        {
            while (reader.TryRead(out T? item))
            {
                action(item);
            }
        }
    }

    private static async Task ReadAsync<T>(ChannelReader<T> reader, Func<T, Task> action)
    {
        while (await reader.WaitToReadAsync())
        {
            while (reader.TryRead(out T? item))
            {
                await action(item);
            }
        }
    }
}
