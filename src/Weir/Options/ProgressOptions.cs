using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Resilience;

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
        return new ProgressOptions { OnProgress = progress.Report };
    }

    /// <summary>Reports to a <see cref="Progress{T}"/>, which posts each report to the context that it was made in.</summary>
    /// <param name="progress">Gets each report, or <see langword="null"/> for none.</param>
    [return: NotNullIfNotNull(nameof(progress))]
    [SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "To is the same.")]
    public static implicit operator ProgressOptions?(Progress<ProgressSnapshot>? progress) => progress is null ? null : To(progress);

    /// <summary>How often a report is made during the run.</summary>
    /// <value>More than zero, or <see cref="Timeout.InfiniteTimeSpan"/> for the final report only. The default is 5 seconds.</value>
    public TimeSpan ReportInterval { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Called with each report: <c>report => Console.WriteLine(report.Succeeded)</c>.</summary>
    /// <value>
    /// The default is <see langword="null"/>, for no reports. No <c>async</c> method, of which nobody would see the end: that is <see cref="OnProgressAsync"/>.
    /// </value>
    /// <remarks>
    /// <para>
    /// It is called on the thread pool, one call at a time: a report that falls due during a call is skipped. The final report, with
    /// <see cref="ProgressSnapshot.IsFinal"/>, is always made, before the operator's task or stream ends, and however the run ends.
    /// </para>
    /// <para>An exception from it is discarded and does not fail the run.</para>
    /// </remarks>
    public Action<ProgressSnapshot>? OnProgress { get; init; }

    /// <summary>Called with each report, after <see cref="OnProgress"/> and as it is; a report ends when its task does.</summary>
    /// <value>The default is <see langword="null"/>, for no reports.</value>
    public Func<ProgressSnapshot, ValueTask>? OnProgressAsync { get; init; }

    /// <summary>How many items there are, for a source that does not say it itself, such as the lines of a file.</summary>
    /// <value>0 or more; <see langword="null"/>, the default, for what the source says. Batches count as the items in them.</value>
    public long? Total { get; init; }

    /// <summary>The stream that the items are read from, of which the reports tell how much has been read: see <see cref="Weir.Progress.OfBytes"/>.</summary>
    /// <value>The default is <see langword="null"/>. The share that is done is that of the bytes if nobody knows how many items there are.</value>
    public ProgressStream? Bytes { get; init; }

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
        Require.Range(Total is null or >= 0, Total, nameof(Total), "0 or more, or null for what the source says");
        if (OnProgress?.Method.IsDefined(typeof(AsyncStateMachineAttribute), inherit: false) == true)
        {
            throw new ArgumentException($"{nameof(OnProgress)} must not be async: set {nameof(OnProgressAsync)}.", nameof(OnProgress));
        }
    }

    /// <summary>Whether anybody gets reports.</summary>
    internal bool HasReports => OnProgress is not null || OnProgressAsync is not null;

    /// <summary>Makes a report.</summary>
    internal ValueTask Report(ProgressSnapshot report)
    {
        OnProgress?.Invoke(report);
        return OnProgressAsync?.Invoke(report) ?? default;
    }
}

/// <summary>
/// The progress of a run. The counts are read one after the other while workers continue, so they can differ by what ended in between. Those of the final
/// report are exact.
/// </summary>
public sealed record ProgressSnapshot
{
    /// <summary>The <see cref="ParallelRunOptions.OperationName"/> of the run; <see langword="null"/> if it has none.</summary>
    public string? OperationName { get; init; }

    /// <summary>Items whose call has started, including those that have ended or wait for another attempt.</summary>
    public required long Started { get; init; }

    /// <summary>Items that have ended with a result.</summary>
    public required long Succeeded { get; init; }

    /// <summary>Items that failed or timed out, but not those cancelled because the run stopped.</summary>
    public required long Failed { get; init; }

    /// <summary>Items that an earlier run has done, so that this one leaves them out: see <see cref="ParallelRunOptions.Resume"/>.</summary>
    public long Skipped { get; init; }

    /// <summary>The number of items; <see langword="null"/> if it is not known before the end.</summary>
    /// <value><see cref="ProgressOptions.Total"/>, or what the source says.</value>
    public required long? TotalItems { get; init; }

    /// <summary>Batches that have ended, with or without a result; <see langword="null"/> for operators without batches. All other counts are of items.</summary>
    public long? Batches { get; init; }

    /// <summary>Bytes that have been read of <see cref="ProgressOptions.Bytes"/>; <see langword="null"/> if that is not set.</summary>
    public long? BytesRead { get; init; }

    /// <summary>How many bytes there are to read; <see langword="null"/> if that is not known.</summary>
    public long? TotalBytes { get; init; }

    /// <summary>The time since the start of the run.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>Whether this is the last report of the run.</summary>
    public required bool IsFinal { get; init; }

    /// <summary>Items that have ended with a result, per second since the start.</summary>
    public double ItemsPerSecond => Elapsed > TimeSpan.Zero ? Succeeded / Elapsed.TotalSeconds : 0;

    /// <summary>
    /// Items that have ended, with or without a result, or were <see cref="Skipped"/>, in percent of <see cref="TotalItems"/>; or else bytes, of
    /// <see cref="TotalBytes"/>.
    /// </summary>
    /// <value>From 0 to 100; <see langword="null"/> if neither total is known.</value>
    public double? PercentComplete => Share switch
    {
        null => null,
        (_, 0) => 100,
        var (done, total) => Math.Min(100, 100.0 * done / total),
    };

    /// <summary>The estimated time for the rest, at the average pace so far.</summary>
    /// <value><see langword="null"/> if no total is known, or no item has ended yet.</value>
    public TimeSpan? EstimatedTimeRemaining => Share is var (done, total) && (done > Before || total == 0)
        ? Times(Elapsed, Math.Max(0, total - done) / (double)Math.Max(1, done - Before))
        : null;

    private long Ended => Succeeded + Failed;

    // What was done before the run says nothing about its pace.
    private long Before => TotalItems is null ? 0 : Skipped;

    private (long Done, long Total)? Share => TotalItems is { } items ? (Ended + Skipped, items) : TotalBytes is { } bytes ? (BytesRead ?? 0, bytes) : null;

    // At most the longest time that there is: a run that was paused for a day after the first of twenty million items would need longer.
    private static TimeSpan Times(TimeSpan elapsed, double factor) =>
        elapsed.Ticks * factor < long.MaxValue ? elapsed * factor : TimeSpan.MaxValue;
}
