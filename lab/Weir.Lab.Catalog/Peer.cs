using Weir.Lab.Results;

namespace Weir.Lab.Catalog;

/// <summary>
/// A row of the catalogue of peers: the usual code without Weir's operators and without a package, over the items of an array. The peers that come in packages
/// are in the suites.
/// </summary>
/// <param name="Name">The name in reports.</param>
/// <param name="RunAsync">Runs the items, at most so many at once, and gives their results in input order. The token stops it.</param>
internal sealed record Peer(string Name, Func<int[], int, ItemCall, CancellationToken, Task<int[]>> RunAsync)
{
    /// <summary>The plain loop, to which ratios are taken.</summary>
    public static Peer Loop { get; } = new(PassFigures.Loop, static (items, _, call, token) => AwaitLoop.StoppableAsync(items, call, token));

    /// <summary>The platform's own way.</summary>
    public static Peer ForEachAsync { get; } =
        new(PassFigures.ForEachAsync, static (items, limit, call, token) => Catalog.ForEachAsync.RunAsync(items, items.Length, limit, call, token));

    /// <summary>All of them, the plain loop first. A peer is a class, and a row here.</summary>
    public static IReadOnlyList<Peer> All { get; } =
    [
        Loop,
        ForEachAsync,
        new("channel + workers", static (items, limit, call, token) => ChannelWorkers.RunAsync(items, items.Length, limit, call, token)),
        new("ActionBlock", InBoxActionBlock.RunAsync),
        new("Weir ActionBlock", WeirActionBlock.RunAsync),
        new("WhenAll + semaphore", static (items, limit, call, token) => TaskWhenAll.WithSemaphoreAsync(items, limit, call, token)),
    ];

    /// <summary>How many items are under way at once.</summary>
    public int DegreeOf(int limit) => this == Loop ? 1 : limit;
}
