using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that is a queue.</summary>
/// <typeparam name="T">The type of the messages.</typeparam>
/// <remarks>All members are thread-safe. First in, first out.</remarks>
public sealed class BufferBlock<T> : PropagatorBlock<T, T>
{
    private readonly BufferCore<T> _core;

    /// <summary>Creates a block with default options.</summary>
    public BufferBlock()
        : this(BlockOptions.None)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public BufferBlock(DataflowBlockOptions dataflowBlockOptions) =>
        _core = new BufferCore<T>(this, BlockOptions.Of(dataflowBlockOptions));

    /// <summary>The number of messages in the block.</summary>
    public int Count => _core.Source.Count;

    private protected override TargetCore<T> Input => _core;

    private protected override ReceiveSource<T> Output => _core.Source;

    private protected override IOfferSource<T> Offers => _core.Source;
}
