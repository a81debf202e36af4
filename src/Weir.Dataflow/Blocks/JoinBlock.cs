using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that waits for one message on each of its targets and makes a tuple of them.</summary>
/// <typeparam name="T1">The type of the first target's messages.</typeparam>
/// <typeparam name="T2">The type of the second target's messages.</typeparam>
/// <remarks>
/// All members are thread-safe. A greedy block takes what it is offered. A non-greedy block takes messages only when it can have one on each target.
/// </remarks>
public sealed class JoinBlock<T1, T2> : SourceBlock<Tuple<T1, T2>>
{
    private readonly JoinCore<T1, T2> _core;

    /// <summary>Creates a block with default options.</summary>
    public JoinBlock()
        : this(BlockOptions.NoneOfGrouping)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public JoinBlock(GroupingDataflowBlockOptions dataflowBlockOptions) =>
        _core = new JoinCore<T1, T2>(this, BlockOptions.Of(dataflowBlockOptions));

    /// <summary>The target for the first part.</summary>
    public ITargetBlock<T1> Target1 => _core.Target1;

    /// <summary>The target for the second part.</summary>
    public ITargetBlock<T2> Target2 => _core.Target2;

    /// <summary>The number of tuples that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    private protected override ReceiveSource<Tuple<T1, T2>> Output => _core.Source;

    private protected override IOfferSource<Tuple<T1, T2>> Offers => _core.Source;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.End(exception);
}

/// <summary>A block that waits for one message on each of its targets and makes a tuple of them.</summary>
/// <typeparam name="T1">The type of the first target's messages.</typeparam>
/// <typeparam name="T2">The type of the second target's messages.</typeparam>
/// <typeparam name="T3">The type of the third target's messages.</typeparam>
/// <remarks>
/// All members are thread-safe. A greedy block takes what it is offered. A non-greedy block takes messages only when it can have one on each target.
/// </remarks>
public sealed class JoinBlock<T1, T2, T3> : SourceBlock<Tuple<T1, T2, T3>>
{
    private readonly JoinCore<T1, T2, T3> _core;

    /// <summary>Creates a block with default options.</summary>
    public JoinBlock()
        : this(BlockOptions.NoneOfGrouping)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public JoinBlock(GroupingDataflowBlockOptions dataflowBlockOptions) =>
        _core = new JoinCore<T1, T2, T3>(this, BlockOptions.Of(dataflowBlockOptions));

    /// <summary>The target for the first part.</summary>
    public ITargetBlock<T1> Target1 => _core.Target1;

    /// <summary>The target for the second part.</summary>
    public ITargetBlock<T2> Target2 => _core.Target2;

    /// <summary>The target for the third part.</summary>
    public ITargetBlock<T3> Target3 => _core.Target3;

    /// <summary>The number of tuples that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    private protected override ReceiveSource<Tuple<T1, T2, T3>> Output => _core.Source;

    private protected override IOfferSource<Tuple<T1, T2, T3>> Offers => _core.Source;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.End(exception);
}
