namespace Weir;

/// <summary>Reports of how far a run is. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record ProgressOptions
{
    /// <summary>How often a report is made while the run lasts.</summary>
    /// <value>More than zero, or <see cref="Timeout.InfiniteTimeSpan"/> for the final report only. The default is 5 seconds.</value>
    public TimeSpan ReportInterval { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Called with each report; <see langword="null"/> for no reports.</summary>
    /// <remarks>
    /// <para>
    /// Called on the thread pool, one call at a time: a report that is due while a call runs is left out. The last report, with
    /// <see cref="ProgressSnapshot.IsFinal"/>, is always made, before the operator's task or stream ends, and however the run ended.
    /// </para>
    /// <para>An exception from it is dropped: a run does not fail because somebody failed to watch it.</para>
    /// </remarks>
    public Func<ProgressSnapshot, ValueTask>? OnProgress { get; init; }

    /// <summary>How long the end of the run waits for calls of <see cref="OnProgress"/>, all in all.</summary>
    /// <value>More than zero. The default is one second.</value>
    /// <remarks>
    /// A call that is still running at the end is given half of it. Then the final report is made all the same, beside a call that hangs, and gets the rest. After that the
    /// run ends without them.
    /// </remarks>
    public TimeSpan CallbackTimeout { get; init; } = TimeSpan.FromSeconds(1);

    internal void Validate()
    {
        Require.Interval(ReportInterval, nameof(ReportInterval));
        Require.Length(CallbackTimeout, nameof(CallbackTimeout));
    }
}
