using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>What a host does between the call that stops it and its end.</summary>
public sealed class StopTests
{
    private const int Limit = 120_000;

    private static WorkHostOptions<int> Options => new() { DeadLetters = new MemoryDeadLetters(), Serializer = IntSerializer.Instance };

    [Fact(Timeout = Limit)]
    public async Task Stop_ItemsEndWithinTheGracePeriod_AreDoneAndTheRestIsReturned()
    {
        using var gate = new Gate();
        using var begun = new Gate();
        using var stop = new CancellationTokenSource();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1), Batch(1, 1), Batch(2, 1)) { Ends = false };
        await using var runtime = new ConcurrentRuntime(1);
        WorkHost<int> host = OneByOne(source, runtime, begun, gate);
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => host.Statistics.Read == 3, "All read");

        // The first item may be read long before its call begins.
        await begun.WaitAsync();
        await stop.CancelAsync();
        await Guard.UntilAsync(() => host.Statistics.State == WorkHostState.Draining, "Draining");
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(["0"], source.Acknowledged);
        Assert.Equal(["1", "2"], source.Returned);
        Assert.Equal((2, 0, TimeSpan.Zero), (host.Statistics.Returned, host.Statistics.InFlight, host.Statistics.Lag));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stop_OfTheRuntimesControl_StopsTheHostAndReturnsWhatHasNotBegun(bool isKeyed)
    {
        using var gate = new Gate();
        using var begun = new Gate();
        var control = new RunControl();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1), Batch(1, 1), Batch(2, 1)) { Ends = false };
        await using var runtime = new ConcurrentRuntime(1, new RuntimeOptions { Control = control });
        var host = new WorkHost<int>(
            source,
            runtime,
            async (_, _) =>
            {
                begun.Open();
                await gate.WaitAsync();
            },
            Options with { MaxItemsPerCall = 1, MaxConcurrentCalls = 1, PartitionBy = isKeyed ? static item => $"{item.Value}" : null });
        Task run = host.RunAsync();
        await begun.WaitAsync();
        await Guard.UntilAsync(() => host.Statistics.Read == 3, "All read");
        control.Stop();
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(["0"], source.Acknowledged);
        Assert.Equal(["1", "2"], source.Returned);
        Assert.Equal((WorkHostState.Stopped, 1, 2, 0), (host.Statistics.State, host.Statistics.Succeeded, host.Statistics.Returned, host.Statistics.InFlight));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stop_ItemsDoNotEnd_AreCancelledAfterTheGracePeriodOrAtAbort(bool abort)
    {
        using var stop = new CancellationTokenSource();
        var clock = new ManualTimeProvider();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 2)) { Ends = false };
        await using var runtime = new ConcurrentRuntime(2);
        int running = 0;
        var host = new WorkHost<int>(
            source,
            runtime,
            async (_, token) =>
            {
                Interlocked.Increment(ref running);
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            },
            Options with { TimeProvider = clock, GracePeriod = TimeSpan.FromSeconds(10) });
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => Volatile.Read(ref running) == 2, "Both running");
        await stop.CancelAsync();
        await Guard.UntilAsync(() => host.Statistics.State == WorkHostState.Draining, "Draining");
        if (abort)
        {
            host.Abort();
        }
        else
        {
            await Guard.UntilAsync(() => clock.NextDue == TimeSpan.FromSeconds(10), "The grace period");
            clock.Advance(TimeSpan.FromSeconds(9.9));
            Assert.False(run.IsCompleted);
            clock.Advance(TimeSpan.FromSeconds(0.1));
        }

        await run.WithinAsync();
        clock.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(["0"], source.Returned);
        Assert.Empty(source.Acknowledged);
        Assert.Equal((WorkHostState.Stopped, 0, TimeSpan.Zero), (host.Statistics.State, host.Statistics.InFlight, host.Statistics.Lag));
    }

    [Theory(Timeout = Limit)]
    [InlineData(AcknowledgePoint.OnReceipt, 20)]
    [InlineData(AcknowledgePoint.AfterProcessing, 1)]
    public async Task Stop_ItemsThatCannotBeReturned_AreStillStarted(AcknowledgePoint acknowledge, int processed)
    {
        using var gate = new Gate();
        using var stop = new CancellationTokenSource();
        var source = new ListSource(AcknowledgementOrder.Any, Batch(0, 10), Batch(1, 10)) { Ends = false };
        await using var runtime = new DirectRuntime();
        var host = new WorkHost<int>(
            source,
            runtime,
            async (_, _) => await gate.WaitAsync(),

            // At a clock that stands still, the grace period does not end before the items have.
            Options with { Acknowledge = acknowledge, MaxItemsPerCall = 1, TimeProvider = new ManualTimeProvider() });
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => host.Statistics.Read == 20, "Both batches");
        await stop.CancelAsync();
        await Guard.UntilAsync(() => host.Statistics.State == WorkHostState.Draining, "Draining");
        gate.Open();
        await run.WithinAsync();
        Assert.Equal((processed, 20 - processed), (host.Statistics.Succeeded, host.Statistics.Returned));
    }

    [Theory(Timeout = Limit)]
    [InlineData("concurrent", false)]
    [InlineData("concurrent", true)]
    [InlineData("parallel", false)]
    [InlineData("parallel", true)]
    [InlineData("direct", false)]
    [InlineData("direct", true)]
    public async Task Stop_CallHasItemsThatHaveNotBegun_BeginsNoneOfThemAndReturnsThem(string kind, bool hasKeys)
    {
        using var gate = new Gate();
        using var begun = new Gate();
        using var stop = new CancellationTokenSource();
        var source = new ListSource(AcknowledgementOrder.Any, Batch(0, 100), Batch(1, 100)) { Ends = false };
        await using IExecutionRuntime runtime = kind switch
        {
            "concurrent" => new ConcurrentRuntime(2), "parallel" => new ParallelRuntime(2), _ => new DirectRuntime(),
        };
        int begins = 0;
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, token) =>
            {
                if (Interlocked.Increment(ref begins) == (kind == "direct" ? 1 : 2))
                {
                    begun.Open();
                }

                await gate.WaitAsync(token);
            },
            Options with
            {
                MaxConcurrentCalls = 1,
                PartitionBy = hasKeys ? static item => $"{item.Value % 10}" : null,

                // At a clock that stands still, the grace period does not end before the items have.
                TimeProvider = new ManualTimeProvider(),
            });
        Task run = host.RunAsync(stop.Token);
        await begun.WaitAsync();
        await stop.CancelAsync();
        await Guard.UntilAsync(() => host.Statistics.State == WorkHostState.Draining, "Draining");
        gate.Open();
        await run.WithinAsync();
        int expected = kind == "direct" ? 1 : 2;
        WorkHostStatistics end = host.Statistics;
        Assert.Equal((expected, expected, 0, 0), (Volatile.Read(ref begins), end.Succeeded, end.Failed, end.DeadLettered));
        Assert.Equal(end.Read - expected, end.Returned);
        Assert.Empty(source.Acknowledged);
    }

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
        WorkHost<int> host = OneByOne(source, runtime, begun, gate);
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

    /// <summary>A host with one item in progress at most, which waits for the gate. At a clock that stands still, the grace period does not end.</summary>
    private static WorkHost<int> OneByOne(ListSource source, IExecutionRuntime runtime, Gate begun, Gate gate) => new(
        source,
        runtime,
        async (_, token) =>
        {
            begun.Open();
            await gate.WaitAsync(token);
        },
        Options with { MaxConcurrentCalls = 1, MaxItemsPerCall = 1, TimeProvider = new ManualTimeProvider() });
}
