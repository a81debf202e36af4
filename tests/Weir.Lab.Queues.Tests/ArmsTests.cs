using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Measuring;

namespace Weir.Lab.Queues.Tests;

/// <summary>On real servers, whose addresses are in WEIR_POSTGRES and WEIR_RABBITMQ: <c>eng/services up</c>.</summary>
public class ArmsTests
{
    private const int Items = 200;

    public static TheoryData<string> Names => [.. QueueArms.Names];

    [Theory(Timeout = 180_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [MemberData(nameof(Names))]
    public async Task Start_CalmRun_HandlesEachItemOnceAndNoMoreThanTwoAtATime(string name)
    {
        await using ServerUnderTest server = await ServerUnderTest.StartAsync(name);
        int inside = 0;
        int most = 0;
        Ledger ledger = new(Items, 1, TimeSpan.Zero, static () => default);
        await using (IQueueArm arm = QueueArms.Create(name, server.Address))
        {
            await arm.OpenAsync();
            await Throughput.PublishAsync(arm, 0, Items);
            await arm.StartAsync(item =>
            {
                most = Math.Max(most, Interlocked.Increment(ref inside));
                Task handled = ledger.HandleAsync(item);
                Interlocked.Decrement(ref inside);
                return handled;
            });
            await ledger.All;
        }

        Assert.Equal(0, ledger.Doubled);
        Assert.InRange(most, 1, server.Address.Consumers);

        // Nothing is left that comes to the next worker: the one item that it gets is new.
        TaskCompletionSource<int> came = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using (IQueueArm arm = QueueArms.Create(name, server.Address))
        {
            await arm.OpenAsync();
            await arm.StartAsync(item =>
            {
                came.TrySetResult(item.Number);
                return Task.CompletedTask;
            });
            await arm.PublishAsync(QueueItem.Of(Items));
            Assert.Equal(Items, await came.Task);
        }
    }
}
