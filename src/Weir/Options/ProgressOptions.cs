using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>Progress reports of a run. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record ProgressOptions
{
    /// <summary>Reports to the platform's own interface: <c>Progress = ProgressOptions.To(progress)</c>.</summary>
    /// <param name="progress">Gets each report. A <see cref="Progress{T}"/> needs no call: <c>Progress = progress</c>.</param>
    /// <returns>The options.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="progress"/> is <see langword="null"/>.</exception>
    public static ProgressOptions To(IProgress<ProgressSnapshot> progress)
    {
        ArgumentNullException.ThrowIfNull(progress);
        return new ProgressOptions
        {
            OnProgress = report =>
            {
                progress.Report(report);
                return default;
            },
        };
    }

    /// <summary>Reports to a <see cref="Progress{T}"/>, which posts each report to the context that it was made in.</summary>
    /// <param name="progress">Gets each report, or <see langword="null"/> for none.</param>
    [return: NotNullIfNotNull(nameof(progress))]
    [SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "To is the same.")]
    public static implicit operator ProgressOptions?(Progress<ProgressSnapshot>? progress) => progress is null ? null : To(progress);

    /// <summary>How often a report is made during the run.</summary>
    /// <value>More than zero, or <see cref="Timeout.InfiniteTimeSpan"/> for the final report only. The default is 5 seconds.</value>
    public TimeSpan ReportInterval { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Called with each report: <c>report => { Console.WriteLine(report.Succeeded); return default; }</c>, or an <c>async</c> lambda.</summary>
    /// <value>The default is <see langword="null"/>, for no reports.</value>
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
