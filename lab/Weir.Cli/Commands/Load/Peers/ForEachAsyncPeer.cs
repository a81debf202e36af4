namespace Weir.Cli.Commands.Load.Peers;

/// <summary>The platform's own way.</summary>
internal sealed class ForEachAsyncPeer : Peer
{
    public const string ForEachAsync = "Parallel.ForEachAsync";

    public override string Name => ForEachAsync;

    public override Task RunAsync(PeerBatch batch) => Parallel.ForEachAsync(
        batch.Items,
        new ParallelOptions { MaxDegreeOfParallelism = batch.Degree, CancellationToken = batch.Token },
        (item, _) => batch.RunAsync(item));
}
