using System.Diagnostics;
using Weir.Lab.Latency;
using Weir.Lab.Queues.Arms;

namespace Weir.Lab.Queues.Measuring;

/// <summary>From the call that publishes an item to the call of its handler, while items come at a fixed rate and a worker waits for them.</summary>
internal static class Delays
{
    /// <summary>How many items come in a second.</summary>
    public const int Rate = 200;

    /// <summary>Measures.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="place">Where its queue is.</param>
    /// <param name="items">How many items are measured; as many as a fifth of them come before.</param>
    public static async Task<QueueReading> MeasureAsync(string name, ArmPlace place, int items)
    {
        ServerProcess server = new(place.Port);
        int warmUp = Math.Max(1, items / 5);
        LatencyHistogram times = new();
        long[] published = new long[warmUp + items];
        Ledger ledger = new(published.Length, warmUp, TimeSpan.Zero, () => Spent.Read(server));
        await using IQueueArm arm = QueueArms.Create(name, place);
        await arm.OpenAsync();
        await arm.StartAsync(item =>
        {
            if (item.Number >= warmUp)
            {
                times.RecordShared((long)Stopwatch.GetElapsedTime(Volatile.Read(ref published[item.Number])).TotalNanoseconds);
            }

            ledger.Handle(item);
        });
        Task[] calls = new Task[published.Length];
        Thread pace = new(() =>
        {
            long start = Stopwatch.GetTimestamp();
            for (int i = 0; i < calls.Length; i++)
            {
                TimeSpan early = TimeSpan.FromSeconds((double)i / Rate) - Stopwatch.GetElapsedTime(start);
                if (early > TimeSpan.Zero)
                {
                    Thread.Sleep(early);
                }

                // Calls do not wait for each other: a slow one delays none that come later.
                int number = i;
                Volatile.Write(ref published[number], Stopwatch.GetTimestamp());
                calls[i] = Task.Run(() => arm.PublishAsync(QueueItem.Of(number)));
            }
        });
        pace.Start();
        await Task.Run(pace.Join);
        await Task.WhenAll(calls);
        await ledger.All;
        return ledger.Reading(QueueReading.Latency) with { P50 = times.ValueAtPercentile(50) / 1e9, P99 = times.ValueAtPercentile(99) / 1e9 };
    }
}
