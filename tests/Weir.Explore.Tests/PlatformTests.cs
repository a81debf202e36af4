using System.Threading.Channels;
using System.Threading.Tasks.Dataflow;

namespace Weir.Explore.Tests;

/// <summary>The platform's own assemblies for several threads, which are rewritten as the code under test is.</summary>
public class PlatformTests(ITestOutputHelper output)
{
    /// <summary>The last version that is known to lose an item.</summary>
    private static readonly Version LosesItems = new(10, 0, 12);

    /// <summary>A writer gives its item to a reader that was cancelled as it registered (dotnet/runtime 132094).</summary>
    [Fact]
    public void BoundedChannel_WithACancelledRead_LosesAnItemWhereItIsKnownTo()
    {
        ExploreResult result = Explore.Search(static async () =>
        {
            Channel<int> channel = Channel.CreateBounded<int>(1);
            using CancellationTokenSource source = new();
            Task cancelling = Task.Run(source.Cancel);
            Task<int> reading = Task.Run(() => ReadAsync(channel.Reader, source.Token));
            await channel.Writer.WriteAsync(1);
            await cancelling;
            int read = await reading;
            Assert.Equal(1, read + (channel.Reader.TryRead(out int left) ? left : 0));
        });
        output.WriteLine(result.ToString());
        Assert.Equal(Environment.Version <= LosesItems ? FailureKind.Exception : null, result.Failure?.Kind);
    }

    /// <summary>It stores that it declines, and reads without a fence whether its worker is active.</summary>
    [Fact]
    public void ActionBlock_OfASingleProducer_NeverCompletesIfStoresAreSeenLate()
    {
        Type core = typeof(ActionBlock<int>).Assembly.GetType("System.Threading.Tasks.Dataflow.Internal.SpscTargetCore`1", throwOnError: true)!;
        ExploreOptions options = new() { PointsAtFieldsOf = [core], MaxPreemptions = 3 };

        static async Task Body()
        {
            ActionBlock<int> block = new(static _ => { }, new ExecutionDataflowBlockOptions { SingleProducerConstrained = true });
            block.Post(1);
            block.Complete();
            await block.Completion;
        }

        Assert.Null(Explore.Search(Body, options).Failure);
        ExploreResult result = Explore.Search(Body, options with { StoreBuffers = true });
        output.WriteLine(result.ToString());
        Assert.Equal(FailureKind.Deadlock, result.Failure?.Kind);
    }

    private static async Task<int> ReadAsync(ChannelReader<int> reader, CancellationToken token)
    {
        try
        {
            return await reader.ReadAsync(token);
        }
        catch (OperationCanceledException)
        {
            return 0;
        }
    }
}
