namespace Weir.Cli.Commands.Load.Peers;

/// <summary>A plain loop: nothing can be cheaper on one thread.</summary>
internal sealed class LoopPeer : Peer
{
    public const string Loop = "loop";

    public override string Name => Loop;

    public override async Task RunAsync(PeerBatch batch)
    {
        (int[] items, int[] results, Func<int, CancellationToken, ValueTask<int>> processor, _, CancellationToken token) = batch;
        for (int i = 0; i < items.Length; i++)
        {
            // As direct does, so that both can be stopped.
            token.ThrowIfCancellationRequested();
            results[i] = await processor(items[i], token).ConfigureAwait(false);
        }
    }
}
