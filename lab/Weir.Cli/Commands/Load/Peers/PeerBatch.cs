namespace Weir.Cli.Commands.Load.Peers;

/// <summary>What a peer does in one call.</summary>
/// <param name="Items">The items: numbers that follow each other.</param>
/// <param name="Results">Where the result of each item goes, in input order.</param>
/// <param name="Processor">The work of an item.</param>
/// <param name="Degree">How many items may be under way at once.</param>
/// <param name="Token">Stops the call.</param>
internal sealed record PeerBatch(
    int[] Items, int[] Results, Func<int, CancellationToken, ValueTask<int>> Processor, int Degree, CancellationToken Token)
{
    /// <summary>Runs one item and stores its result.</summary>
    public async ValueTask RunAsync(int item) =>
        Results[item - Items[0]] = await Processor(item, Token).ConfigureAwait(false);
}
