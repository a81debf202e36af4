using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that makes any number of outputs from every message.</summary>
/// <typeparam name="TInput">The type of the messages.</typeparam>
/// <typeparam name="TOutput">The type of the outputs.</typeparam>
/// <remarks>
/// All members are thread-safe. The delegate and the enumeration of what it returns run on the options' scheduler, under no lock, at most
/// MaxDegreeOfParallelism at a time; outputs keep the order of the messages unless EnsureOrdered is false. They are sent as they come, in order those of the
/// first call that has not ended. Meanwhile, later calls keep theirs, in a bounded block up to its capacity each. Each output counts for BoundedCapacity. A
/// sequence ends at its next output when the block is cancelled or fails.
/// </remarks>
public sealed class TransformManyBlock<TInput, TOutput> : PropagatorBlock<TInput, TOutput>
{
    private readonly TransformManyCore<TInput, TOutput> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="transform">Makes the outputs of each message. Null means none.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformManyBlock(Func<TInput, IEnumerable<TOutput>> transform)
        : this(transform, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="transform">Makes the outputs of each message. Null means none.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformManyBlock(Func<TInput, IEnumerable<TOutput>> transform, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(transform);
        _core = new TransformManyCore<TInput, TOutput>(this, transform, null, null, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>Creates a block with default options.</summary>
    /// <param name="transform">Makes the outputs of each message. A null or cancelled task means none.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformManyBlock(Func<TInput, Task<IEnumerable<TOutput>>> transform)
        : this(transform, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="transform">Makes the outputs of each message. A null or cancelled task means none.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformManyBlock(Func<TInput, Task<IEnumerable<TOutput>>> transform, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(transform);
        _core = new TransformManyCore<TInput, TOutput>(this, null, transform, null, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>Creates a block with default options.</summary>
    /// <param name="transform">Makes the outputs of each message, which are sent as they come. Null means none.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformManyBlock(Func<TInput, IAsyncEnumerable<TOutput>> transform)
        : this(transform, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="transform">Makes the outputs of each message, which are sent as they come. Null means none.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformManyBlock(Func<TInput, IAsyncEnumerable<TOutput>> transform, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(transform);
        _core = new TransformManyCore<TInput, TOutput>(this, null, null, transform, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>The number of messages that wait to be processed.</summary>
    public int InputCount => _core.InputCount;

    /// <summary>The number of outputs that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    private protected override TargetCore<TInput> Input => _core;

    private protected override ReceiveSource<TOutput> Output => _core.Source;

    private protected override IOfferSource<TOutput> Offers => _core.Source;
}
