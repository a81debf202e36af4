using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that makes one output from every message.</summary>
/// <typeparam name="TInput">The type of the messages.</typeparam>
/// <typeparam name="TOutput">The type of the outputs.</typeparam>
/// <remarks>
/// All members are thread-safe. The delegate runs on the options' scheduler, at most MaxDegreeOfParallelism calls at a time; outputs keep the order of
/// the messages unless EnsureOrdered is false.
/// </remarks>
public sealed class TransformBlock<TInput, TOutput> : PropagatorBlock<TInput, TOutput>
{
    private readonly TransformCore<TInput, TOutput> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="transform">Makes the output of each message.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformBlock(Func<TInput, TOutput> transform)
        : this(transform, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="transform">Makes the output of each message.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformBlock(Func<TInput, TOutput> transform, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(transform);
        _core = new TransformCore<TInput, TOutput>(this, transform, null, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>Creates a block with default options.</summary>
    /// <param name="transform">Makes the output of each message. A null or cancelled task means no output.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformBlock(Func<TInput, Task<TOutput>> transform)
        : this(transform, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="transform">Makes the output of each message. A null or cancelled task means no output.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public TransformBlock(Func<TInput, Task<TOutput>> transform, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(transform);
        _core = new TransformCore<TInput, TOutput>(this, null, transform, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>The number of messages that wait to be processed.</summary>
    public int InputCount => _core.InputCount;

    /// <summary>The number of outputs that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    private protected override TargetCore<TInput> Input => _core;

    private protected override ReceiveSource<TOutput> Output => _core.Source;

    private protected override IOfferSource<TOutput> Offers => _core.Source;
}
