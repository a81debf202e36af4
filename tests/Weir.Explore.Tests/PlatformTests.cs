using System.Threading.Channels;
using System.Threading.Tasks.Dataflow;

namespace Weir.Explore.Tests;

/// <summary>The platform's own assemblies for several threads, which are rewritten as the code under test is.</summary>
public class PlatformTests(ITestOutputHelper output)
{
    /// <summary>The last version that is known to lose an item.</summary>
    private static readonly Version LosesItems = new(10, 0, 12);

    /// <summary>The last version whose block of a single producer is known not to complete.</summary>
    private static readonly Version NeverCompletes = new(10, 0, 12);

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

    /// <summary>
    /// The block writes that it declines and then reads whether its worker is active. A worker that stops at that moment does not see the write.
    /// </summary>
    [Fact]
    public void ActionBlock_OfASingleProducer_NeverCompletesWhereItIsKnownTo()
    {
        ExploreResult result = Explore.Search(
            static async () =>
            {
                ActionBlock<int> block = new(static _ => { }, new ExecutionDataflowBlockOptions { SingleProducerConstrained = true });
                block.Post(1);
                block.Complete();
                await block.Completion;
            },
            new ExploreOptions { StoreBuffers = true });
        output.WriteLine(result.ToString());
        Assert.Equal(Environment.Version <= NeverCompletes ? FailureKind.Deadlock : null, result.Failure?.Kind);
    }

    /// <summary>A block of the platform whose messages go through its own queue and on to another.</summary>
    [Fact]
    public void Blocks_LinkedAndCompleted_PassWhatTheyTook() => output.WriteLine(Explore.Run(
        static async () =>
        {
            int sum = 0;
            BufferBlock<int> source = new();
            ActionBlock<int> target = new(item => { sum += item; });
            source.LinkTo(target, new DataflowLinkOptions { PropagateCompletion = true });
            source.Post(1);
            Task posting = Task.Run(() => source.Post(2));
            await posting;
            source.Complete();
            await target.Completion;
            Assert.Equal(3, sum);
        },
        new ExploreOptions { MaxSchedules = 700 }).ToString());

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
