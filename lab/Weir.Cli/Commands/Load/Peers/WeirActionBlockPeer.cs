using System.Threading.Tasks.Dataflow;

namespace Weir.Cli.Commands.Load.Peers;

using Weir.Dataflow;

/// <summary>The same block of this library.</summary>
internal sealed class WeirActionBlockPeer : Peer
{
    public override string Name => "Weir ActionBlock";

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
