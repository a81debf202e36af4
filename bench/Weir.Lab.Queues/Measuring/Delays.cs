using System.Diagnostics;
using System.Threading.Channels;
using Weir.Lab.Latency;
using Weir.Lab.Queues.Arms;

namespace Weir.Lab.Queues.Measuring;

/// <summary>From the moment at which an item is to be published to its handler, while items come at a fixed rate and a worker waits for them.</summary>
internal static class Delays
{
    /// <summary>How many items come in a second.</summary>
    public const int Rate = 100;

    /// <summary>Measures.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="items">How many items are measured; as many as a fifth of them come before.</param>
    public static async Task<QueueReading> MeasureAsync(string name, QueueAddress address, int items)
    {
        ServerProcess server = new(address.Port);
        int warmUp = Math.Max(1, items / 5);
        LatencyHistogram times = new();
        long[] published = new long[warmUp + items];
        Ledger ledger = new(published.Length, warmUp, TimeSpan.Zero, () => Spent.Read(server));
        await using IQueueArm arm = QueueArms.Create(name, address);
        await arm.OpenAsync();
        await arm.StartAsync(item =>
        {
            if (item.Number >= warmUp)
            {
                times.RecordShared((long)Stopwatch.GetElapsedTime(Volatile.Read(ref published[item.Number])).TotalNanoseconds);
            }

            return ledger.HandleAsync(item);
        });
        // Callers that are all busy make an item late, and its time counts from when it was due.
        Channel<int> due = Channel.CreateUnbounded<int>();
        Task[] callers = [.. Enumerable.Range(0, Throughput.Publishers).Select(_ => Task.Run(async () =>
        {
            await foreach (int number in due.Reader.ReadAllAsync())
            {
                await arm.PublishAsync(QueueItem.Of(number));
            }
        }))];
        Thread pace = new(() =>
        {
            long start = Stopwatch.GetTimestamp();
            for (int i = 0; i < published.Length; i++)
            {
                TimeSpan early = TimeSpan.FromSeconds((double)i / Rate) - Stopwatch.GetElapsedTime(start);
                if (early > TimeSpan.Zero)
                {
                    Thread.Sleep(early);
                }

                Volatile.Write(ref published[i], Stopwatch.GetTimestamp());
                due.Writer.TryWrite(i);
            }

            due.Writer.Complete();
        });
        pace.Start();
        await Task.WhenAll(callers);
        await ledger.All;
        return ledger.Reading(QueueReading.Latency) with { P50 = times.ValueAtPercentile(50) / 1e9, P99 = times.ValueAtPercentile(99) / 1e9 };
    }
}
