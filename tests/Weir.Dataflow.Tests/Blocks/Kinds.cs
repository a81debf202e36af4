namespace Weir.Dataflow.Tests.Blocks;

/// <summary>The block kinds that a theory runs over.</summary>
public static class Kinds
{
    public static readonly BlockKind[] Everything = Enum.GetValues<BlockKind>();

    /// <summary>Blocks that run a delegate.</summary>
    public static bool Executes(BlockKind kind) => kind <= BlockKind.ManyStream;

    /// <summary>Blocks that put messages into tuples.</summary>
    public static bool Joins(BlockKind kind) => kind >= BlockKind.Join2;

    public static bool HasOutput(BlockKind kind) => kind > BlockKind.ActionAsync;

    public static bool Transforms(BlockKind kind) => Executes(kind) && HasOutput(kind);

    /// <summary>Blocks whose output is a queue: each message goes to one taker only.</summary>
    public static bool Queues(BlockKind kind) => HasOutput(kind) && kind is not (BlockKind.Broadcast or BlockKind.WriteOnce);

    /// <summary>Blocks that take a BoundedCapacity and heed it.</summary>
    public static bool Bounds(BlockKind kind) => kind is not (BlockKind.WriteOnce or BlockKind.BatchedJoin2 or BlockKind.BatchedJoin3);

    public static TheoryData<BlockKind> All { get; } = Of(static _ => true);

    public static TheoryData<BlockKind> Executing { get; } = Of(Executes);

    public static TheoryData<BlockKind> Sources { get; } = Of(HasOutput);

    public static TheoryData<BlockKind> Queueing { get; } = Of(Queues);

    public static TheoryData<BlockKind> Bounding { get; } = Of(Bounds);

    public static TheoryData<BlockKind> BoundedQueues { get; } = Of(static k => Bounds(k) && Queues(k));

    public static TheoryData<BlockKind> SingleBoundedQueues { get; } = Of(static k => Bounds(k) && Queues(k) && !Joins(k));

    public static TheoryData<BlockKind> Transforming { get; } = Of(Transforms);

    /// <summary>Blocks with one input, which is the block itself.</summary>
    public static TheoryData<BlockKind> SingleInput { get; } = Of(static k => !Joins(k));

    /// <summary>Each of some kinds with each of some values: ways to end it, say.</summary>
    public static TheoryData<BlockKind, T> With<T>(Func<BlockKind, bool> wanted, params T[] values) =>
        [.. Everything.Where(wanted).SelectMany(kind => values.Select(value => (kind, value)))];

    private static TheoryData<BlockKind> Of(Func<BlockKind, bool> wanted) => [.. Everything.Where(wanted)];
}
