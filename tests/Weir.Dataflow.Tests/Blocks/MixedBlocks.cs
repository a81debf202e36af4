namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Theirs and ours in turn, so that neighbours in a network have different makers.</summary>
public abstract class MixedBlocks(bool oursFirst) : BlockFactory
{
    private readonly BlockFactory _theirs = new MicrosoftBlocks();
    private readonly BlockFactory _ours = new WeirBlocks();
    private int _made = oursFirst ? 1 : 0;

    private BlockFactory Next => (Interlocked.Increment(ref _made) & 1) == 0 ? _ours : _theirs;

    public override ITargetBlock<T> Action<T>(Action<T> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.Action<T>(body, options);

    public override ITargetBlock<T> ActionAsync<T>(Func<T, Task> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.ActionAsync<T>(body, options);

    public override IPropagatorBlock<TIn, TOut> Transform<TIn, TOut>(Func<TIn, TOut> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.Transform<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> TransformAsync<TIn, TOut>(Func<TIn, Task<TOut>> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.TransformAsync<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> Many<TIn, TOut>(Func<TIn, IEnumerable<TOut>> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.Many<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> ManyAsync<TIn, TOut>(Func<TIn, Task<IEnumerable<TOut>>> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.ManyAsync<TIn, TOut>(body, options);

    public override IPropagatorBlock<TIn, TOut> ManyStream<TIn, TOut>(Func<TIn, IAsyncEnumerable<TOut>> body, ExecutionDataflowBlockOptions? options = null) =>
        Next.ManyStream<TIn, TOut>(body, options);

    public override IPropagatorBlock<T, T> Buffer<T>(DataflowBlockOptions? options = null) =>
        Next.Buffer<T>(options);

    public override IPropagatorBlock<T, T> Broadcast<T>(Func<T, T>? clone, DataflowBlockOptions? options = null) =>
        Next.Broadcast<T>(clone, options);

    public override IPropagatorBlock<T, T> WriteOnce<T>(Func<T, T>? clone, DataflowBlockOptions? options = null) =>
        Next.WriteOnce<T>(clone, options);

    public override IPropagatorBlock<T, T[]> Batch<T>(int size, GroupingDataflowBlockOptions? options = null) =>
        Next.Batch<T>(size, options);

    public override JoinParts<T1, T2, Tuple<T1, T2>> Join<T1, T2>(GroupingDataflowBlockOptions? options = null) =>
        Next.Join<T1, T2>(options);

    public override JoinParts<T1, T2, T3, Tuple<T1, T2, T3>> Join<T1, T2, T3>(GroupingDataflowBlockOptions? options = null) =>
        Next.Join<T1, T2, T3>(options);

    public override JoinParts<T1, T2, Tuple<IList<T1>, IList<T2>>> BatchedJoin<T1, T2>(int size, GroupingDataflowBlockOptions? options = null) =>
        Next.BatchedJoin<T1, T2>(size, options);

    public override JoinParts<T1, T2, T3, Tuple<IList<T1>, IList<T2>, IList<T3>>> BatchedJoin<T1, T2, T3>(
        int size, GroupingDataflowBlockOptions? options = null) =>
        Next.BatchedJoin<T1, T2, T3>(size, options);
}
