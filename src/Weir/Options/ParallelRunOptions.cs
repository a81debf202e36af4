namespace Weir;

/// <summary>How a parallel operator runs. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// The values are checked when an operator is called with them, and a wrong one is an <see cref="ArgumentOutOfRangeException"/> that
/// names the property. One instance may be used by any number of runs at once; the hooks then are called from all of them.
/// </remarks>
public sealed record ParallelRunOptions
{
    internal static ParallelRunOptions Default { get; } = new();

    /// <summary>How many items may be in flight at once.</summary>
    /// <value>At least 1. The default is the number of processors.</value>
    public int MaxDegreeOfParallelism { get; init; } = Environment.ProcessorCount;

    /// <summary>How long one item may take, its start and completion hooks included.</summary>
    /// <value>More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.</value>
    /// <remarks>
    /// At the limit the item's token is cancelled and the item fails with an <see cref="OperationCanceledException"/> whose
    /// <see cref="Exception.InnerException"/> is a <see cref="TimeoutException"/>, as <c>HttpClient</c> reports it. This also
    /// happens when the call ignores its token, or blocks its thread: the run goes on without it, and its later result or exception is dropped.
    /// </remarks>
    public TimeSpan? PerItemTimeout { get; init; }

    /// <summary>What happens when an item fails.</summary>
    /// <value>The default is <see cref="ErrorMode.FailFast"/>.</value>
    public ErrorMode ErrorMode { get; init; } = ErrorMode.FailFast;

    /// <summary>Called before an item's call, with the item's index in the source. An exception from it is a failure of the item.</summary>
    /// <remarks>Indices beyond <see cref="int.MaxValue"/>, which only an endless stream reaches, are given as <see cref="int.MaxValue"/>.</remarks>
    public Func<int, ValueTask>? OnStartItemAsync { get; init; }

    /// <summary>Called after an item's call has returned its result, with the item's index. An exception from it is a failure of the item.</summary>
    public Func<int, ValueTask>? OnCompleteItemAsync { get; init; }

    /// <summary>
    /// Called once for each item that failed, with its index and exception; <see langword="false"/> stops the run: nothing further
    /// starts, and running items are cancelled.
    /// </summary>
    /// <remarks>
    /// Not called for items that end as cancelled because the run has stopped. What a stopped run gives is what its <see cref="ErrorMode"/> says,
    /// for the items that ran. An exception from this hook counts as one more failure of the item.
    /// </remarks>
    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync { get; init; }

    /// <summary>
    /// Called when a stream pauses reading its source, because its consumer is <see cref="ChannelCapacity"/> results behind; with
    /// the number of items read so far. Operators that return no stream never pause.
    /// </summary>
    public Func<int, ValueTask>? OnThrottleAsync { get; init; }

    /// <summary>Called when a stream that had paused reads on, before it starts its next item; with the number of items read so far.</summary>
    public Func<int, ValueTask>? OnDrainAsync { get; init; }

    /// <summary>How many results of a stream may lie ready for the consumer, beside the items in flight: how far a stream reads ahead.</summary>
    /// <value>At least 1. The default is 1024.</value>
    /// <remarks>With a <c>partitionBy</c> it is also how many items that were read may wait for others of their key, in every operator.</remarks>
    public int ChannelCapacity { get; init; } = 1024;

    /// <summary>Whether a stream yields its results in source order instead of in the order of their completion. Lists are always in source order.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool OrderedOutput { get; init; }

    /// <summary>How many items of one key may be in flight at once, for operators that are given a <c>partitionBy</c>.</summary>
    /// <value>At least 1. The default is 1: items of one key run one after the other, in source order.</value>
    public int MaxPerPartition { get; init; } = 1;

    /// <summary>The clock for time limits.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.AtLeastOne(MaxDegreeOfParallelism, nameof(MaxDegreeOfParallelism));
        Require.AtLeastOne(ChannelCapacity, nameof(ChannelCapacity));
        Require.AtLeastOne(MaxPerPartition, nameof(MaxPerPartition));
        Require.Timeout(PerItemTimeout, nameof(PerItemTimeout));
        Require.Defined(ErrorMode, nameof(ErrorMode));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
