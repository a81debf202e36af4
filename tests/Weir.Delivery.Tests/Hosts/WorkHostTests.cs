using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>What a host does with batches: acknowledging, giving back, running alone, and dead letters.</summary>
public sealed class WorkHostTests
{
    private const int Limit = 120_000;

    private readonly MemoryDeadLetters _dead = new();

    private WorkHostOptions<int> Options => new() { DeadLetters = _dead, Serializer = IntSerializer.Instance };

    public static TheoryData<string> Runtimes() => ["direct", "concurrent", "parallel", "auto"];

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Runtimes))]
    public async Task RunAsync_SourceEnds_EachItemOnceAndAllAcknowledged(string kind)
    {
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 3), Batch(1, 0), Batch(2, 90), Batch(3, 1));
        await using IExecutionRuntime runtime = Runtime(kind);
        var seen = new ConcurrentBag<int>();
        var host = new WorkHost<int>(source, runtime, (item, _) => { seen.Add(item.Value); return default; }, Options with { MaxItemsPerCall = 20 });
        Assert.Equal(WorkHostState.Created, host.Statistics.State);
        await host.RunAsync().WithinAsync();
        Assert.Equal([0, 1, 2, .. Enumerable.Range(200, 90), 300], seen.Order());
        Assert.Equal(["0", "1", "2", "3"], source.Acknowledged);
        Assert.Empty(source.Returned);
        WorkHostStatistics end = host.Statistics;
        Assert.Equal((WorkHostState.Stopped, 94, 94, 0, 0, 4), (end.State, end.Read, end.Succeeded, end.Failed, end.InFlight, end.AcknowledgedBatches));
    }

    [Theory(Timeout = Limit)]
    [InlineData(AcknowledgementOrder.Delivery)]
    [InlineData(AcknowledgementOrder.Any)]
    public async Task Acknowledge_EarlierBatchRuns_OnlyWhereOrderDoesNotMatter(AcknowledgementOrder order)
    {
        using var gate = new Gate();
        var source = new ListSource(order, Batch(0, 1), Batch(1, 2), Batch(2, 1));
        await using var runtime = new ConcurrentRuntime(4);
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, token) =>
            {
                if (item.Value == 0)
                {
                    await gate.WaitAsync(token);
                }
                else if (item.Value == 200 && order == AcknowledgementOrder.Any)
                {
                    // The batches run side by side: this one ends after the one before it.
                    await Guard.UntilAsync(() => source.AcknowledgedSoFar().Contains("1"), "The acknowledgement of batch 1");
                }
            },
            Options with { MaxItemsPerCall = 1 });
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => host.Statistics.Succeeded == 3, "The others");
        if (order == AcknowledgementOrder.Any)
        {
            await Guard.UntilAsync(() => source.AcknowledgedSoFar().Length == 2, "The others' acknowledgement");
        }

        Assert.DoesNotContain("0", source.AcknowledgedSoFar());
        Assert.True(order == AcknowledgementOrder.Any || source.AcknowledgedSoFar().Length == 0);
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(order == AcknowledgementOrder.Any ? ["1", "2", "0"] : ["0", "1", "2"], source.Acknowledged);
    }

    [Fact(Timeout = Limit)]
    public async Task Sink_Results_ComeInOrderWithThePositionBeforeTheAcknowledgement()
    {
        var calls = new ConcurrentQueue<string>();
        using var gate = new Gate();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 2), Batch(1, 2), Batch(2, 1)) { OnCall = calls.Enqueue };
        var sink = new RecordedSink { OnWrite = () => calls.Enqueue("write") };
        await using var runtime = new ConcurrentRuntime(4);
        WorkHost<int> host = WorkHost.Create(
            source,
            runtime,
            async (item, token) =>
            {
                if (item.Value == 0)
                {
                    await gate.WaitAsync(token);
                }

                return item.Value == 101 ? throw new TestException("No.") : $"<{item.Value}>";
            },
            sink,
            Options with { MaxItemsPerCall = 1 });
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => host.Statistics is { Succeeded: 3, DeadLettered: 1 }, "The others");
        Assert.Empty(sink.Writes);
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(["<0>", "<1>", "<100>", "<200>"], sink.Writes.SelectMany(static w => w.Values));
        Assert.Equal("2", sink.Writes[^1].Position);
        string[] settled = [.. calls.Where(static c => c != nameof(IWorkSource<int>.ReadAsync))];
        Assert.Equal(Enumerable.Range(0, settled.Length).Select(static i => i % 2 == 0 ? "write" : nameof(IWorkSource<int>.AcknowledgeAsync)), settled);
        Assert.Equal(DeadLetterReason.Failed, (await _dead.FindAsync("1/1"))!.Reason);
    }

    [Fact(Timeout = Limit)]
    public async Task Suspect_Batches_RunAlone()
    {
        var source = new ListSource(
            AcknowledgementOrder.Delivery, Batch(0, 20), Batch(1, 5, suspect: true), Batch(2, 20), Batch(3, 1, suspect: true, crashes: 1), Batch(4, 3));
        await using var runtime = new ConcurrentRuntime(8);
        var running = new ConcurrentDictionary<int, int>();
        var mixed = new ConcurrentBag<string>();
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, _) =>
            {
                int batch = item.Value / 100;
                running.AddOrUpdate(batch, 1, static (_, n) => n + 1);
                await Task.Yield();
                int[] others = [.. running.Where(r => r.Value > 0 && r.Key != batch).Select(static r => r.Key)];
                if (others.Length > 0 && (batch is 1 or 3 || others.Any(static o => o is 1 or 3)))
                {
                    mixed.Add($"{batch} beside {string.Join(',', others)}");
                }

                running.AddOrUpdate(batch, 0, static (_, n) => n - 1);
            },
            Options with { MaxItemsPerCall = 3 });
        await host.RunAsync().WithinAsync();
        Assert.Empty(mixed);
        Assert.Equal(49, host.Statistics.Succeeded);
        Assert.Equal(["0", "1", "2", "3", "4"], source.Acknowledged);
    }

    [Fact(Timeout = Limit)]
    public async Task Suspect_CrashedOften_IsADeadLetterAndDoesNotRun()
    {
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1, suspect: true, crashes: 2), Batch(1, 1));
        await using var runtime = new ConcurrentRuntime(2);
        var seen = new ConcurrentBag<int>();
        var host = new WorkHost<int>(source, runtime, (item, _) => { seen.Add(item.Value); return default; }, Options);
        await host.RunAsync().WithinAsync();
        Assert.Equal([100], seen);
        DeadLetter letter = Assert.IsType<DeadLetter>(await _dead.FindAsync("0/0"));
        Assert.Equal(DeadLetterReason.Crashed, letter.Reason);
        Assert.Equal(["0", "1"], source.Acknowledged);
    }

    [Fact(Timeout = Limit)]
    public async Task Failures_Kinds_BecomeTheRightDeadLetters()
    {
        var clock = new ManualTimeProvider();
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 4));
        await using var runtime = new ConcurrentRuntime(4, new RuntimeOptions { TimeProvider = clock });
        int retried = 0;
        var host = new WorkHost<int>(
            source,
            runtime,
            async (item, token) =>
            {
                switch (item.Value)
                {
                    case 0:
                        throw new ArgumentException("Never.");
                    case 1:
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                        break;
                    case 2:
                        throw Interlocked.Increment(ref retried) == 1 ? new TimeoutException("Once.") : new TestException("Then.");
                    default:
                        break;
                }
            },
            Options with
            {
                PerItemTimeout = TimeSpan.FromSeconds(5),
                IsTransient = static e => e is not ArgumentException,
                Retry = new RetryOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero },
            });
        Task run = host.RunAsync();

        // The clock stands until only the item that hangs is left: one that is held up would be out of time as well.
        await Guard.UntilAsync(() => runtime.Statistics is { Succeeded: 1, Failed: 2, InFlight: 1 }, "The end of the others");
        await Guard.UntilAsync(
            () =>
            {
                clock.Advance(TimeSpan.FromSeconds(1));
                return run.IsCompleted;
            },
            "The end");
        await run;
        Assert.Equal(
            [("0/0", DeadLetterReason.Rejected), ("0/1", DeadLetterReason.TimedOut), ("0/2", DeadLetterReason.Failed)],
            new[] { "0/0", "0/1", "0/2" }.Select(id => (id, _dead.FindAsync(id).AsTask().Result!.Reason)));
        Assert.Equal((1, 3, 3), (host.Statistics.Succeeded, host.Statistics.Failed, host.Statistics.DeadLettered));
    }

    [Fact(Timeout = Limit)]
    public async Task MaxItemsInFlight_Reached_ReadsNoMore()
    {
        using var gate = new Gate();
        var source = new ListSource(AcknowledgementOrder.Delivery, Enumerable.Range(0, 50).Select(static i => Batch(i, 10)));
        await using var runtime = new ConcurrentRuntime(2);
        var host = new WorkHost<int>(source, runtime, async (_, token) => await gate.WaitAsync(token), Options with { MaxItemsInFlight = 25 });
        Task run = host.RunAsync();
        await Guard.UntilAsync(() => host.Statistics.InFlight >= 25, "The bound");
        await Guard.SettleAsync();
        Assert.Equal(30, host.Statistics.Read);
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(500, host.Statistics.Succeeded);
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_OnReceipt_ComesBeforeTheItemsRun()
    {
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1));
        await using var runtime = new ConcurrentRuntime(2);
        string[] before = [];
        var host = new WorkHost<int>(
            source, runtime, (_, _) => { before = source.AcknowledgedSoFar(); return default; }, Options with { Acknowledge = AcknowledgePoint.OnReceipt });
        await host.RunAsync().WithinAsync();
        Assert.Equal(["0"], before);
        Assert.Equal(["0"], source.Acknowledged);
    }

    [Fact]
    public async Task RunAsync_Twice_Throws()
    {
        await using var runtime = new ConcurrentRuntime(2);
        var host = new WorkHost<int>(new ListSource(AcknowledgementOrder.Any), runtime, static (_, _) => default, Options);
        await host.RunAsync().WithinAsync();
        Assert.Throws<InvalidOperationException>(() => { _ = host.RunAsync(); });
    }

    [Fact]
    public async Task Constructor_BadOptions_NameTheProperty()
    {
        await using var runtime = new ConcurrentRuntime(2);
        var source = new ListSource(AcknowledgementOrder.Any);
        void Throws(string name, WorkHostOptions<int> options) =>
            Assert.Equal(name, Assert.ThrowsAny<ArgumentException>(() => new WorkHost<int>(source, runtime, static (_, _) => default, options)).ParamName);

        Throws("MaxAttempts", Options with { MaxAttempts = 0 });
        Throws("RedeliveryDelays", Options with { RedeliveryDelays = [] });
        Throws("RedeliveryDelays", Options with { RedeliveryDelays = [TimeSpan.FromSeconds(-1)] });
        Throws("MaxItemsInFlight", Options with { MaxItemsInFlight = 0 });
        Throws("MaxItemsPerCall", Options with { MaxItemsPerCall = 0 });
        Throws("MaxConcurrentCalls", Options with { MaxConcurrentCalls = 0 });
        Throws("MaxCrashes", Options with { MaxCrashes = 0 });
        Throws("PerItemTimeout", Options with { PerItemTimeout = TimeSpan.Zero });
        Throws("GracePeriod", Options with { GracePeriod = TimeSpan.FromSeconds(-3) });
        Throws("Acknowledge", Options with { Acknowledge = (AcknowledgePoint)7 });
        Throws("DeadLetters", Options with { DeadLetters = null! });
    }

    private static IExecutionRuntime Runtime(string kind) => kind switch
    {
        "direct" => new DirectRuntime(),
        "concurrent" => new ConcurrentRuntime(8),
        "parallel" => new ParallelRuntime(2),
        _ => new AutoRuntime(),
    };
}
