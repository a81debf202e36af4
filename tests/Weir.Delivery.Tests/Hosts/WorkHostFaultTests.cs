using System.Collections.Concurrent;
using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>What a host does when the calls around its items fail: it repeats them, unless repeating cannot help.</summary>
public sealed class WorkHostFaultTests
{
    private const int Limit = 120_000;

    private static readonly WorkHostOptions<int> Options = new() { DeadLetters = new MemoryDeadLetters(), Serializer = IntSerializer.Instance };

    [Theory(Timeout = Limit)]
    [InlineData(nameof(IWorkSource<int>.ReadAsync))]
    [InlineData(nameof(IWorkSource<int>.AcknowledgeAsync))]
    [InlineData("write")]
    public async Task Fault_AroundTheItems_IsRepeated(string where)
    {
        int left = 3;
        var faults = new ConcurrentBag<Exception>();
        void Fault(string call)
        {
            if (call == where && Interlocked.Decrement(ref left) >= 0)
            {
                throw new IOException("Away.");
            }
        }

        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 2), Batch(1, 2)) { OnCall = Fault };
        var sink = new RecordedSink { OnWrite = () => Fault("write") };
        await using var runtime = new ConcurrentRuntime(2);
        WorkHost<int> host = WorkHost.Create(
            source,
            runtime,
            static (item, _) => new ValueTask<string>($"{item.Value}"),
            sink,
            Options with { OnFault = e => { faults.Add(e); throw new TestException("A listener."); } });
        await host.RunAsync().WithinAsync();
        Assert.Equal(3, faults.Count);
        Assert.Equal((3, 4), (host.Statistics.Faults, host.Statistics.Succeeded));
        Assert.Equal(["0", "1"], source.Acknowledged);
        Assert.Equal(["0", "1", "100", "101"], sink.Writes.SelectMany(static w => w.Values));
    }

    [Theory(Timeout = Limit)]
    [InlineData(nameof(IWorkSource<int>.ReadAsync))]
    [InlineData(nameof(IWorkSource<int>.AcknowledgeAsync))]
    public async Task Fault_WhileTheHostStops_IsNoFailureOfTheHost(string where)
    {
        WorkHost<int>? host = null;
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1), Batch(1, 1))
        {
            OnCall = call =>
            {
                if (call == where)
                {
                    host!.Abort();
                    throw new IOException("The connection is lost.");
                }
            },
            Ends = false,
        };
        await using var runtime = new ConcurrentRuntime(2);
        host = new WorkHost<int>(source, runtime, static (_, _) => default, Options);
        await host.RunAsync().WithinAsync();
        Assert.Equal((WorkHostState.Stopped, 1), (host.Statistics.State, host.Statistics.Faults));
        Assert.Equal("The connection is lost.", host.Statistics.LastFault?.Message);
    }

    [Theory(Timeout = Limit)]
    [InlineData(nameof(IWorkSource<int>.ReadAsync))]
    [InlineData(nameof(IWorkSource<int>.AcknowledgeAsync))]
    public async Task Fault_OfTheSetup_EndsTheHost(string where)
    {
        var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1))
        {
            OnCall = c =>
            {
                if (c == where)
                {
                    throw new WorkSetupException("No such queue.");
                }
            },
            Ends = false,
        };
        await using var runtime = new ConcurrentRuntime(2);
        var host = new WorkHost<int>(source, runtime, static (_, _) => default, Options);
        WorkSetupException failure = await Assert.ThrowsAsync<WorkSetupException>(() => host.RunAsync().WithinAsync());
        Assert.Equal("No such queue.", failure.Message);
        Assert.Equal(WorkHostState.Failed, host.Statistics.State);
    }
}
