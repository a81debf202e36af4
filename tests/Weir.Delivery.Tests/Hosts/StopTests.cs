using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>What a host does between the call that stops it and its end.</summary>
public sealed class StopTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Stop_SourceDoesNotEndItsRead_BeginsNoOtherItem()
    {
        using var gate = new Gate();
        using var begun = new Gate();
        using var reading = new Gate();
        using var stop = new CancellationTokenSource();
        int reads = 0;
        var source = new ListSource(AcknowledgementOrder.Any, Batch(0, 1), Batch(1, 1))
        {
            Ends = false,
            OnCall = call =>
            {
                // It does not look at its token.
                if (call == nameof(IWorkSource<int>.ReadAsync) && ++reads == 3)
                {
                    reading.Wait();
                }
            },
        };
        await using var runtime = new ConcurrentRuntime(1);
        var host = new WorkHost<int>(
            source,
            runtime,
            async (_, token) =>
            {
                begun.Open();
                await gate.WaitAsync(token);
            },
            new WorkHostOptions<int>
            {
                DeadLetters = new MemoryDeadLetters(),
                Serializer = IntSerializer.Instance,
                MaxConcurrentCalls = 1,
                MaxItemsPerCall = 1,
                TimeProvider = new ManualTimeProvider(),
            });
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => host.Statistics.Read == 2, "Both read");
        await begun.WaitAsync();
        await stop.CancelAsync();
        gate.Open();
        await Guard.UntilAsync(() => host.Statistics.Succeeded == 1, "The first item");
        await Guard.SettleAsync();
        reading.Open();
        await run.WithinAsync();
        Assert.Equal((1, 1), (host.Statistics.Succeeded, host.Statistics.Returned));
        Assert.Equal(["1"], source.Returned);
    }
}
