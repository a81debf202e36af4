using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that offers a copy of every message to all links, and keeps the latest one for later links and receives.</summary>
/// <typeparam name="T">The type of the messages.</typeparam>
/// <remarks>All members are thread-safe. A link that is not ready for a message misses it when the next message comes.</remarks>
public sealed class BroadcastBlock<T> : PropagatorBlock<T, T>
{
    private readonly BroadcastCore<T> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="cloningFunction">Makes the copy for each receiver; if null, receivers get the message itself.</param>
    public BroadcastBlock(Func<T, T>? cloningFunction)
        : this(cloningFunction, BlockOptions.None)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="cloningFunction">Makes the copy for each receiver; if null, receivers get the message itself.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    public BroadcastBlock(Func<T, T>? cloningFunction, DataflowBlockOptions dataflowBlockOptions) =>
        _core = new BroadcastCore<T>(this, cloningFunction, BlockOptions.Of(dataflowBlockOptions));

    private protected override TargetCore<T> Input => _core;

    private protected override ReceiveSource<T> Output => _core.Source;

    private protected override IOfferSource<T> Offers => _core;

    private protected override void End(Exception? exception) => _core.End(exception);
}
