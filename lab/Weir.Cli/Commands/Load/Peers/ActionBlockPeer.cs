using System.Threading.Tasks.Dataflow;

namespace Weir.Cli.Commands.Load.Peers;

/// <summary>A block of the platform's dataflow library.</summary>
internal sealed class ActionBlockPeer : Peer
{
    public override string Name => "ActionBlock";

    public override Task RunAsync(PeerBatch batch)
    {
        ActionBlock<int> block = new(
            item => batch.RunAsync(item).AsTask(),
            new ExecutionDataflowBlockOptions
            {
                MaxDegreeOfParallelism = batch.Degree,
                SingleProducerConstrained = true,
                CancellationToken = batch.Token,
            });
        foreach (int item in batch.Items)
        {
            block.Post(item);
        }

        block.Complete();
        return block.Completion;
    }
}
