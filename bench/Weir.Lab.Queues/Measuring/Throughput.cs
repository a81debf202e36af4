using Weir.Lab.Queues.Arms;

namespace Weir.Lab.Queues.Measuring;

/// <summary>
/// Publishes items by several callers, each of which waits until its item is on the disk of the server, and then has them handled: so nothing that publishes
/// runs beside what handles.
/// </summary>
internal static class Throughput
{
    /// <summary>How many callers publish at a time, as the requests of an application would.</summary>
    public const int Publishers = 16;

    /// <summary>Measures.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="items">How many items are measured; as many as a fifth of them come before.</param>
    /// <param name="work">Which handling: <see cref="QueueReading.Handle"/> or <see cref="QueueReading.HandleSlowly"/>.</param>
    public static async Task<IReadOnlyList<QueueReading>> MeasureAsync(string name, QueueAddress address, int items, string work)
    {
        ServerProcess server = new(address.Port);
        Spent Read() => Spent.Read(server);
        int warmUp = Math.Max(1, items / 5);
        await using IQueueArm arm = QueueArms.Create(name, address);
        await arm.OpenAsync();
        await PublishAsync(arm, 0, warmUp);
        Spent begin = Read();
        await PublishAsync(arm, warmUp, items);
        QueueReading published = Read().Since(begin, QueueReading.Publish, items);

        TimeSpan time = TimeSpan.FromMilliseconds(work == QueueReading.HandleSlowly ? 1 : 0);
        Ledger ledger = new(warmUp + items, warmUp, time, Read);
        await arm.StartAsync(ledger.HandleAsync);
        await ledger.All;
        return [published, ledger.Reading(work)];
    }

    /// <summary>Publishes items, each in a message of its own.</summary>
    public static Task PublishAsync(IQueueArm arm, int first, int count) => PublishAsync(arm, first, count, QueueItem.Of);

    /// <summary>Publishes messages.</summary>
    /// <param name="arm">Where to.</param>
    /// <param name="first">The number of the first one.</param>
    /// <param name="count">How many.</param>
    /// <param name="message">Makes the one of a number.</param>
    public static async Task PublishAsync(IQueueArm arm, int first, int count, Func<int, QueueItem> message)
    {
        int next = first - 1;
        await Task.WhenAll(Enumerable.Range(0, Publishers).Select(_ => Task.Run(async () =>
        {
            int number;
            while ((number = Interlocked.Increment(ref next)) < first + count)
            {
                await arm.PublishAsync(message(number));
            }
        })));
    }
}
