using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Cores;

/// <summary>The options of a block as they were at its construction. Blocks with default options share one instance.</summary>
/// <remarks>SingleProducerConstrained is none of them: a post takes the same path without it.</remarks>
internal sealed class BlockOptions
{
    public const int Unbounded = int.MaxValue;

    private const string DefaultNameFormat = "{0} Id={1}";

    /// <summary>The options of blocks that were built without any. Nobody else has them, so they never change.</summary>
    public static readonly DataflowBlockOptions None = new();
    public static readonly ExecutionDataflowBlockOptions NoneOfExecution = new();
    public static readonly GroupingDataflowBlockOptions NoneOfGrouping = new();

    private static readonly BlockOptions Default = new(new DataflowBlockOptions(), 1, true, long.MaxValue);

    private BlockOptions(DataflowBlockOptions options, int parallelism, bool greedy, long maxGroups)
    {
        Scheduler = options.TaskScheduler;
        Token = options.CancellationToken;
        MessagesPerTask = NoLimitAsMax(options.MaxMessagesPerTask);
        Capacity = NoLimitAsMax(options.BoundedCapacity);
        NameFormat = options.NameFormat;
        Ordered = options.EnsureOrdered;
        Parallelism = parallelism;
        Greedy = greedy;
        MaxGroups = maxGroups;
    }

    public TaskScheduler Scheduler { get; }

    public CancellationToken Token { get; }

    public int MessagesPerTask { get; }

    public int Capacity { get; }

    public string NameFormat { get; }

    private bool HasDefaultName => NameFormat == DefaultNameFormat;

    public bool Ordered { get; }

    public int Parallelism { get; }

    public bool Greedy { get; }

    public long MaxGroups { get; }

    public bool IsBounded => Capacity != Unbounded;

    /// <summary>How many messages a block takes at most, or null.</summary>
    public int? Bound => IsBounded ? Capacity : null;

    public bool OnDefaultScheduler => Scheduler == TaskScheduler.Default;

    public static BlockOptions Of(DataflowBlockOptions? options)
    {
        ArgumentNullException.ThrowIfNull(options, "dataflowBlockOptions");
        return IsDefault(options) ? Default : new BlockOptions(options, 1, true, long.MaxValue);
    }

    public static BlockOptions Of(ExecutionDataflowBlockOptions? options)
    {
        ArgumentNullException.ThrowIfNull(options, "dataflowBlockOptions");
        return IsDefault(options) && options.MaxDegreeOfParallelism == 1
            ? Default
            : new BlockOptions(options, NoLimitAsMax(options.MaxDegreeOfParallelism), true, long.MaxValue);
    }

    public static BlockOptions Of(GroupingDataflowBlockOptions? options)
    {
        ArgumentNullException.ThrowIfNull(options, "dataflowBlockOptions");
        long maxGroups = options.MaxNumberOfGroups == DataflowBlockOptions.Unbounded ? long.MaxValue : options.MaxNumberOfGroups;
        return IsDefault(options) && options.Greedy && maxGroups == long.MaxValue
            ? Default
            : new BlockOptions(options, 1, options.Greedy, maxGroups);
    }

    /// <summary>The name that the options give the block, or null.</summary>
    public string? GivenName(IDataflowBlock block) => HasDefaultName ? null : Name(block);

    /// <summary>What the block's ToString says.</summary>
    public string Name(IDataflowBlock block)
    {
        try
        {
            return string.Format(null, NameFormat, block.GetType().Name, block.Completion.Id);
        }
        catch (FormatException e)
        {
            return e.Message;
        }
    }

    private static int NoLimitAsMax(int limit) => limit == DataflowBlockOptions.Unbounded ? int.MaxValue : limit;

    private static bool IsDefault(DataflowBlockOptions options) =>
        options.TaskScheduler == TaskScheduler.Default
        && !options.CancellationToken.CanBeCanceled
        && options.MaxMessagesPerTask == DataflowBlockOptions.Unbounded
        && options.BoundedCapacity == DataflowBlockOptions.Unbounded
        && options.EnsureOrdered
        && options.NameFormat == DefaultNameFormat;
}
