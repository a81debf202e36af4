using Weir.RabbitMQ;

namespace Weir.Tables.Servers.Broker;

/// <summary>Brings the items of <see cref="BareQueue"/> through a <see cref="RabbitWorkQueue{T}"/>: a sink, a source, and the same acknowledgements.</summary>
internal sealed class WeirQueue(RabbitWorkQueue<byte[]> queue, int itemBytes)
{
    private const string Origin = "0199f3a2b4c5d6e7f8091a2b3c4d5e6f";
    private const int ItemsAtOnce = 2048;
    private const int CallsAtOnce = 32;

    private readonly byte[] _value = new byte[itemBytes];

    /// <summary>Brings items through the queue.</summary>
    /// <param name="items">How many.</param>
    /// <param name="progress">Called with how many have arrived, after each acknowledgement.</param>
    public async Task<TimeSpan> RunAsync(long items, Action<long>? progress = null)
    {
        await using IWorkSink<byte[]> sink = await queue.OpenSinkAsync();
        await using IWorkSource<byte[]> source = await queue.OpenSourceAsync();
        long start = Stopwatch.GetTimestamp();
        Task publishing = Task.Run(() => PublishAsync(sink, items));
        await Task.Run(() => ConsumeAsync(source, items, progress));
        await publishing;
        return Stopwatch.GetElapsedTime(start);
    }

    /// <summary>Brings items through the queue to a host with its default options.</summary>
    public async Task<TimeSpan> RunToHostAsync(long items, CancellationToken stop)
    {
        await using IWorkSink<byte[]> sink = await queue.OpenSinkAsync(stop);
        IWorkSource<byte[]> source = await queue.OpenSourceAsync(stop);
        WorkHostOptions<byte[]> options = new() { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Bytes };
        long start = Stopwatch.GetTimestamp();
        Task publishing = Task.Run(() => PublishAsync(sink, items), stop);
        await HostPass.RunAsync(source, options, items, static _ => { }, stop);
        await publishing;
        return Stopwatch.GetElapsedTime(start);
    }

    private async Task PublishAsync(IWorkSink<byte[]> sink, long items)
    {
        // Some thousand items a call, and several calls at once: a call waits for its confirms.
        Queue<Task> calls = new();
        for (long first = 0; first < items; first += ItemsAtOnce)
        {
            if (calls.Count == CallsAtOnce)
            {
                await calls.Dequeue();
            }

            WorkItem<byte[]>[] part = new WorkItem<byte[]>[(int)Math.Min(ItemsAtOnce, items - first)];
            for (int i = 0; i < part.Length; i++)
            {
                part[i] = new WorkItem<byte[]>(new WorkId(Origin, (int)(first + i)), _value);
            }

            calls.Enqueue(sink.WriteAsync(part, null, CancellationToken.None).AsTask());
        }

        await Task.WhenAll(calls);
    }

    private static async Task ConsumeAsync(IWorkSource<byte[]> source, long items, Action<long>? progress)
    {
        List<WorkBatch<byte[]>> done = new(BareQueue.AckEvery);
        for (long got = 0; got < items;)
        {
            WorkBatch<byte[]> batch = (await source.ReadAsync(CancellationToken.None))!;
            got += batch.Items.Count;
            done.Add(batch);
            // The first message alone: a source takes few until it knows how fast they are done.
            if (done.Count == BareQueue.AckEvery || got == batch.Items.Count || got >= items)
            {
                await source.AcknowledgeAsync(done, CancellationToken.None);
                done.Clear();
                progress?.Invoke(got);
            }
        }
    }
}
