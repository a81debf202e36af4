using Own = Weir.Dataflow;

namespace Weir.Dataflow.Tests.Blocks;

/// <summary>The blocks under test.</summary>
public sealed class WeirBlocks : BlockFactory
{
    public override ITargetBlock<T> Action<T>(Action<T> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.ActionBlock<T>(body) : new Own.ActionBlock<T>(body, options);

    public override ITargetBlock<T> ActionAsync<T>(Func<T, Task> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.ActionBlock<T>(body) : new Own.ActionBlock<T>(body, options);

    public override IPropagatorBlock<TIn, TOut> Transform<TIn, TOut>(Func<TIn, TOut> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.TransformBlock<TIn, TOut>(body) : new Own.TransformBlock<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> TransformAsync<TIn, TOut>(Func<TIn, Task<TOut>> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.TransformBlock<TIn, TOut>(body) : new Own.TransformBlock<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> Many<TIn, TOut>(Func<TIn, IEnumerable<TOut>> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.TransformManyBlock<TIn, TOut>(body) : new Own.TransformManyBlock<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> ManyAsync<TIn, TOut>(Func<TIn, Task<IEnumerable<TOut>>> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.TransformManyBlock<TIn, TOut>(body) : new Own.TransformManyBlock<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> ManyStream<TIn, TOut>(Func<TIn, IAsyncEnumerable<TOut>> body, ExecutionDataflowBlockOptions? options = null) =>
        options is null ? new Own.TransformManyBlock<TIn, TOut>(body) : new Own.TransformManyBlock<TIn, TOut>(body, options);

    public override IPropagatorBlock<T, T> Buffer<T>(DataflowBlockOptions? options = null) =>
        options is null ? new Own.BufferBlock<T>() : new Own.BufferBlock<T>(options);

    public override IPropagatorBlock<T, T> Broadcast<T>(Func<T, T>? clone, DataflowBlockOptions? options = null) =>
        options is null ? new Own.BroadcastBlock<T>(clone) : new Own.BroadcastBlock<T>(clone, options);

    public override IPropagatorBlock<T, T> WriteOnce<T>(Func<T, T>? clone, DataflowBlockOptions? options = null) =>
        options is null ? new Own.WriteOnceBlock<T>(clone) : new Own.WriteOnceBlock<T>(clone, options);

    public override IPropagatorBlock<T, T[]> Batch<T>(int size, GroupingDataflowBlockOptions? options = null) =>
        options is null ? new Own.BatchBlock<T>(size) : new Own.BatchBlock<T>(size, options);

    public override JoinParts<T1, T2, Tuple<T1, T2>> Join<T1, T2>(GroupingDataflowBlockOptions? options = null)
    {
        var block = options is null ? new Own.JoinBlock<T1, T2>() : new Own.JoinBlock<T1, T2>(options);
        return new(block, block.Target1, block.Target2);
    }

    public override JoinParts<T1, T2, T3, Tuple<T1, T2, T3>> Join<T1, T2, T3>(GroupingDataflowBlockOptions? options = null)
    {
        var block = options is null ? new Own.JoinBlock<T1, T2, T3>() : new Own.JoinBlock<T1, T2, T3>(options);
        return new(block, block.Target1, block.Target2, block.Target3);
    }

    public override JoinParts<T1, T2, Tuple<IList<T1>, IList<T2>>> BatchedJoin<T1, T2>(int size, GroupingDataflowBlockOptions? options = null)
    {
        var block = options is null ? new Own.BatchedJoinBlock<T1, T2>(size) : new Own.BatchedJoinBlock<T1, T2>(size, options);
        return new(block, block.Target1, block.Target2);
    }

    public override JoinParts<T1, T2, T3, Tuple<IList<T1>, IList<T2>, IList<T3>>> BatchedJoin<T1, T2, T3>(
        int size, GroupingDataflowBlockOptions? options = null)
    {
        var block = options is null ? new Own.BatchedJoinBlock<T1, T2, T3>(size) : new Own.BatchedJoinBlock<T1, T2, T3>(size, options);
        return new(block, block.Target1, block.Target2, block.Target3);
    }
}
