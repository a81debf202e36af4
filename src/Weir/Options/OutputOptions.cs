namespace Weir;

/// <summary>What the caller of a run gets, besides the order. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record OutputOptions
{
    internal static OutputOptions Default { get; } = new();

    /// <summary>
    /// Whether the outcomes of <c>SelectParallelOutcomesAsync</c> and <c>SelectParallelOutcomesStreamAsync</c> have <see cref="ItemOutcome{TResult}.Details"/>:
    /// the item's index, how often its call was made and how long it took.
    /// </summary>
    /// <value>The default is <see langword="false"/>. Then they cost nothing.</value>
    /// <remarks>Details cost an object per item, and a record while the item is under way. Other operators ignore this option.</remarks>
    public bool IncludeDetails { get; init; }

    /// <summary>
    /// Whether <c>SelectParallelOutcomesAsync</c> returns the outcomes it has when the caller cancels it, instead of throwing an
    /// <see cref="OperationCanceledException"/>.
    /// </summary>
    /// <value>The default is <see langword="false"/>.</value>
    /// <remarks>
    /// Items that ended before keep their outcome. Those that were running, or waited for another attempt, are <see cref="ItemStatus.Cancelled"/>, the others
    /// <see cref="ItemStatus.NotRun"/>. The task still ends only when all running items have. Other operators ignore this option.
    /// </remarks>
    public bool ReturnOutcomesOnCancellation { get; init; }

    /// <summary>
    /// Whether the results that the caller of a run does not get are disposed of: those of a list or of outcomes whose run failed or was cancelled, and those
    /// of a stream that its consumer has not read when it leaves.
    /// </summary>
    /// <value>The default is <see langword="false"/>, because other code may still hold these results.</value>
    /// <remarks>
    /// The end of the run, or of the stream's disposal, waits for it, but no longer than <see cref="ParallelRunOptions.PerItemTimeout"/>. Results that come too
    /// late, after their item timed out, are disposed of in any case. See docs/reference/operators/disposable-results.md.
    /// </remarks>
    public bool DisposeUnusedResults { get; init; }

    /// <summary>How far a stream reads ahead: the number of results that may be ready for the consumer, in addition to the items in flight.</summary>
    /// <value>At least 1. The default is 1024.</value>
    /// <remarks>For items with keys, in every operator, this is also how many items that were read may wait for other items of their key.</remarks>
    public int ChannelCapacity { get; init; } = 1024;

    internal void Validate() => Require.AtLeastOne(ChannelCapacity, nameof(ChannelCapacity));
}
