namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Makes blocks as what their interfaces say they are, so that one test can ask the same of every maker.</summary>
public abstract class BlockFactory
{
    public abstract ITargetBlock<T> Action<T>(Action<T> body, ExecutionDataflowBlockOptions? options = null);

    public abstract ITargetBlock<T> ActionAsync<T>(Func<T, Task> body, ExecutionDataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<TIn, TOut> Transform<TIn, TOut>(Func<TIn, TOut> body, ExecutionDataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<TIn, TOut> TransformAsync<TIn, TOut>(Func<TIn, Task<TOut>> body, ExecutionDataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<TIn, TOut> Many<TIn, TOut>(Func<TIn, IEnumerable<TOut>> body, ExecutionDataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<TIn, TOut> ManyAsync<TIn, TOut>(Func<TIn, Task<IEnumerable<TOut>>> body, ExecutionDataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<TIn, TOut> ManyStream<TIn, TOut>(Func<TIn, IAsyncEnumerable<TOut>> body, ExecutionDataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<T, T> Buffer<T>(DataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<T, T> Broadcast<T>(Func<T, T>? clone, DataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<T, T> WriteOnce<T>(Func<T, T>? clone, DataflowBlockOptions? options = null);

    public abstract IPropagatorBlock<T, T[]> Batch<T>(int size, GroupingDataflowBlockOptions? options = null);

    public abstract JoinParts<T1, T2, Tuple<T1, T2>> Join<T1, T2>(GroupingDataflowBlockOptions? options = null);

    public abstract JoinParts<T1, T2, T3, Tuple<T1, T2, T3>> Join<T1, T2, T3>(GroupingDataflowBlockOptions? options = null);

    public abstract JoinParts<T1, T2, Tuple<IList<T1>, IList<T2>>> BatchedJoin<T1, T2>(int size, GroupingDataflowBlockOptions? options = null);

    public abstract JoinParts<T1, T2, T3, Tuple<IList<T1>, IList<T2>, IList<T3>>> BatchedJoin<T1, T2, T3>(
        int size, GroupingDataflowBlockOptions? options = null);

    /// <summary>A block of the kind that passes strings on as they are.</summary>
    public Subject Create(BlockKind kind, BlockSettings? settings = null)
    {
        BlockSettings set = settings ?? BlockSettings.Default;
        Action<string> body = set.Body ?? (static _ => { });
        switch (kind)
        {
            case BlockKind.Action:
                return Sink(kind, Action(body, set.Execution()));
            case BlockKind.ActionAsync:
                return Sink(kind, ActionAsync<string>(async s => body(s), set.Execution()));
            case BlockKind.Transform:
                return Pass(kind, Transform<string, string>(s => { body(s); return s; }, set.Execution()));
            case BlockKind.TransformAsync:
                return Pass(kind, TransformAsync<string, string>(async s => { body(s); return s; }, set.Execution()));
            case BlockKind.Many:
                return Pass(kind, Many<string, string>(s => { body(s); return [s]; }, set.Execution()));
            case BlockKind.ManyAsync:
                return Pass(kind, ManyAsync<string, string>(async s => { body(s); return [s]; }, set.Execution()));
            case BlockKind.ManyStream:
                return Pass(kind, ManyStream<string, string>(s => Stream(s, body), set.Execution()));
            case BlockKind.Buffer:
                return Pass(kind, Buffer<string>(set.Plain()));
            case BlockKind.Broadcast:
                return Pass(kind, Broadcast<string>(null, set.Plain()));
            case BlockKind.WriteOnce:
                return Pass(kind, WriteOnce<string>(null, set.Plain()));
            case BlockKind.Batch:
                return Pass(kind, Batch<string>(set.BatchSize, set.Grouping()));
            case BlockKind.Join2:
                var join2 = Join<string, string>(set.Grouping());
                return Pass(kind, join2.Block, join2.First, join2.Second);
            case BlockKind.Join3:
                var join3 = Join<string, string, string>(set.Grouping());
                return Pass(kind, join3.Block, join3.First, join3.Second, join3.Third);
            case BlockKind.BatchedJoin2:
                var batched2 = BatchedJoin<string, string>(set.BatchSize, set.Grouping());
                return Pass(kind, batched2.Block, batched2.First, batched2.Second);
            case BlockKind.BatchedJoin3:
                var batched3 = BatchedJoin<string, string, string>(set.BatchSize, set.Grouping());
                return Pass(kind, batched3.Block, batched3.First, batched3.Second, batched3.Third);
            default:
                throw new ArgumentOutOfRangeException(nameof(kind));
        }
    }

    private static async IAsyncEnumerable<string> Stream(string item, Action<string> body)
    {
        body(item);
        yield return item;
    }

    private static Subject Sink(BlockKind kind, ITargetBlock<string> block) => new(kind, block, [block], null, null);

    private static Subject Pass<TOut>(BlockKind kind, IPropagatorBlock<string, TOut> block) where TOut : class =>
        Pass(kind, (IReceivableSourceBlock<TOut>)block, block);

    private static Subject Pass<TOut>(BlockKind kind, IReceivableSourceBlock<TOut> block, params ITargetBlock<string>[] inputs)
        where TOut : class =>
        new(kind, block, inputs, block, () => block.TryReceive(null, out TOut? item) ? item : null);
}
