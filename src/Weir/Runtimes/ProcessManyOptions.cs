namespace Weir.Runtimes;

/// <summary>The time limits of one <see cref="IExecutionRuntime.ProcessManyAsync"/> call. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record ProcessManyOptions
{
    internal static ProcessManyOptions Default { get; } = new();

    /// <summary>How long one item may take, from its start. It is <see cref="ItemStatus.TimedOut"/> then, and the others go on.</summary>
    /// <value>More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.</value>
    public TimeSpan? ItemTimeout { get; init; }

    /// <summary>
    /// How long the whole call may take. At its end running items are <see cref="ItemStatus.TimedOut"/>, items that have not started are
    /// <see cref="ItemStatus.NotRun"/>, and the call returns.
    /// </summary>
    /// <value>More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.</value>
    public TimeSpan? BatchTimeout { get; init; }

    internal void Validate()
    {
        Require.Timeout(ItemTimeout, nameof(ItemTimeout));
        Require.Timeout(BatchTimeout, nameof(BatchTimeout));
    }
}
