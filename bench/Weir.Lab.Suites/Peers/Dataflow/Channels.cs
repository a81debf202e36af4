namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>The cases whose job a channel and a reading loop do as well.</summary>
internal static class Channels
{
    /// <summary>One writer, and a reader that calls the action.</summary>
    public static async Task<long[]> WriteAsync(int n, Tally tally)
    {
        Channel<int> channel = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true });
        Task reader = Task.Run(() => ReadAllAsync(channel.Reader, tally));
        for (int i = 0; i < n; i++)
        {
            channel.Writer.TryWrite(i);
        }

        channel.Writer.Complete();
        await reader;
        return tally.Take();
    }

    /// <summary>Two writers, and a reader that calls the action.</summary>
    public static async Task<long[]> WriteFromTwoAsync(int n, Tally tally)
    {
        Channel<int> channel = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true });
        Task reader = Task.Run(() => ReadAllAsync(channel.Reader, tally));
        Task Half(int first) => Task.Run(() =>
        {
            for (int i = first; i < n; i += 2)
            {
                channel.Writer.TryWrite(i);
            }
        });
        await Task.WhenAll(Half(0), Half(1));
        channel.Writer.Complete();
        await reader;
        return tally.Take();
    }

    /// <summary>A writer that waits for room, and a reader that calls the action.</summary>
    public static async Task<long[]> SendAsync(int n, Tally tally, int bound)
    {
        Channel<int> channel = Channel.CreateBounded<int>(bound);
        Task reader = Task.Run(() => ReadAllAsync(channel.Reader, tally));
        for (int i = 0; i < n; i++)
        {
            await channel.Writer.WriteAsync(i);
        }

        channel.Writer.Complete();
        await reader;
        return tally.Take();
    }

    /// <summary>One caller writes and reads, in turn.</summary>
    public static async Task<long[]> SendReceiveAsync(int n)
    {
        Channel<int> channel = Channel.CreateBounded<int>(1);
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            await channel.Writer.WriteAsync(i);
            sum += await channel.Reader.ReadAsync();
        }

        return [sum];
    }

    /// <summary>One task writes, another reads.</summary>
    public static async Task<long[]> SendReceiveTasksAsync(int n)
    {
        Channel<int> channel = Channel.CreateBounded<int>(1);
        Task sender = Task.Run(async () =>
        {
            for (int i = 0; i < n; i++)
            {
                await channel.Writer.WriteAsync(i);
            }
        });
        Task<long> receiver = Task.Run(async () =>
        {
            long sum = 0;
            for (int i = 0; i < n; i++)
            {
                sum += await channel.Reader.ReadAsync();
            }

            return sum;
        });
        await sender;
        return [await receiver];
    }

    /// <summary>Each item is waited for before it is written.</summary>
    public static async Task<long[]> ReceiveThenPostAsync(int n)
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            ValueTask<int> received = channel.Reader.ReadAsync();
            channel.Writer.TryWrite(i);
            sum += await received;
        }

        return [sum];
    }

    /// <summary>A task that adds one and writes to one of two channels, each with a reader that calls its action.</summary>
    public static async Task<long[]> RouteAsync(int n, Tally tally, Tally other)
    {
        Channel<int> input = One();
        Channel<int> even = One();
        Channel<int> odd = One();
        Task router = Task.Run(async () =>
        {
            while (await input.Reader.WaitToReadAsync())
            {
                while (input.Reader.TryRead(out int item))
                {
                    int next = item + 1;
                    (next % 2 == 0 ? even : odd).Writer.TryWrite(next);
                }
            }

            even.Writer.Complete();
            odd.Writer.Complete();
        });
        Task[] readers = [Task.Run(() => ReadAllAsync(even.Reader, tally)), Task.Run(() => ReadAllAsync(odd.Reader, other))];
        WriteAll(input.Writer, n);
        await router;
        await Task.WhenAll(readers);
        return [.. tally.Take(), .. other.Take()];
    }

    /// <summary>A writer to two channels, each with a reader that calls its action.</summary>
    public static async Task<long[]> BroadcastAsync(int n, Tally tally, Tally other)
    {
        Channel<int> one = One();
        Channel<int> two = One();
        Task[] readers = [Task.Run(() => ReadAllAsync(one.Reader, tally)), Task.Run(() => ReadAllAsync(two.Reader, other))];
        WriteAll(one.Writer, two.Writer, n);
        await Task.WhenAll(readers);
        return [.. tally.Take(), .. other.Take()];
    }

    /// <summary>Two channels, and a reader that takes an item of each and calls the action with both.</summary>
    public static async Task<long[]> JoinAsync(int n, Tally tally)
    {
        Channel<int> first = One();
        Channel<int> second = One();
        Task joiner = Task.Run(async () =>
        {
            while (await first.Reader.WaitToReadAsync())
            {
                while (first.Reader.TryRead(out int item))
                {
                    int other = second.Reader.TryRead(out int there) ? there : await second.Reader.ReadAsync();
                    tally.AddPair(Tuple.Create(item, other));
                }
            }
        });
        WriteAll(first.Writer, second.Writer, n);
        await joiner;
        return tally.Take();
    }

    private static Channel<int> One() => Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true, SingleWriter = true });

    private static void WriteAll(ChannelWriter<int> writer, int n)
    {
        for (int i = 0; i < n; i++)
        {
            writer.TryWrite(i);
        }

        writer.Complete();
    }

    private static void WriteAll(ChannelWriter<int> one, ChannelWriter<int> two, int n)
    {
        for (int i = 0; i < n; i++)
        {
            one.TryWrite(i);
            two.TryWrite(i);
        }

        one.Complete();
        two.Complete();
    }

    private static async Task ReadAllAsync(ChannelReader<int> reader, Tally tally)
    {
        while (await reader.WaitToReadAsync())
        {
            while (reader.TryRead(out int item))
            {
                tally.Add(item);
            }
        }
    }
}
