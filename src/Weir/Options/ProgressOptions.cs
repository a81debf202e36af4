namespace Weir;

/// <summary>Progress reports of a run. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record ProgressOptions
{
    /// <summary>How often a report is made during the run.</summary>
    /// <value>More than zero, or <see cref="Timeout.InfiniteTimeSpan"/> for the final report only. The default is 5 seconds.</value>
    public TimeSpan ReportInterval { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Called with each report; <see langword="null"/> for no reports.</summary>
    /// <remarks>
    /// <para>
    /// It is called on the thread pool, one call at a time: a report that falls due during a call is skipped. The final report, with
    /// <see cref="ProgressSnapshot.IsFinal"/>, is always made, before the operator's task or stream ends, and however the run ends.
    /// </para>
    /// <para>An exception from it is discarded and does not fail the run.</para>
    /// </remarks>
    public Func<ProgressSnapshot, ValueTask>? OnProgress { get; init; }

    /// <summary>How long the end of the run waits in total for calls to <see cref="OnProgress"/>.</summary>
    /// <value>More than zero. The default is one second.</value>
    /// <remarks>
    /// A call that is still running at the end gets half of this time. Then the final report is made, alongside a call that hangs, and gets the rest. After
    /// that, the run ends without waiting for either.
    /// </remarks>
    public TimeSpan CallbackTimeout { get; init; } = TimeSpan.FromSeconds(1);

    internal void Validate()
    {
        Require.Interval(ReportInterval, nameof(ReportInterval));
        Require.Positive(CallbackTimeout, nameof(CallbackTimeout));
    }
}
