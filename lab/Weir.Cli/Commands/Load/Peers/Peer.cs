namespace Weir.Cli.Commands.Load.Peers;

/// <summary>Something that one would write with the platform alone, in place of a runtime.</summary>
internal abstract class Peer
{
    /// <summary>All peers. The plain loop is first, because ratios are taken to it.</summary>
    public static IReadOnlyList<Peer> All { get; } =
        [new LoopPeer(), new ForEachAsyncPeer(), new ChannelPeer(), new ActionBlockPeer(), new WeirActionBlockPeer(), new SemaphorePeer()];

    /// <summary>The name in reports.</summary>
    public abstract string Name { get; }

    /// <summary>Runs the items of a batch and stores their results.</summary>
    public abstract Task RunAsync(PeerBatch batch);
}
