namespace Weir.Dataflow.Tests.Blocks;

/// <summary>A join of two, whoever made it.</summary>
public sealed record JoinParts<T1, T2, TOut>(IReceivableSourceBlock<TOut> Block, ITargetBlock<T1> First, ITargetBlock<T2> Second);

/// <summary>A join of three, whoever made it.</summary>
public sealed record JoinParts<T1, T2, T3, TOut>(
    IReceivableSourceBlock<TOut> Block,
    ITargetBlock<T1> First,
    ITargetBlock<T2> Second,
    ITargetBlock<T3> Third);
