using Weir.Lab.Statistics;
using Weir.Lab.Trials;
using static System.FormattableString;

namespace Weir.Lab.Suites.Figures;

/// <summary>One goal of a case, and its judgement by what was measured.</summary>
internal sealed class Goal
{
    private readonly Func<CaseResult, (double[] Values, double Limit, string Text)> _measure;
    private readonly Func<double, string> _format;

    private Goal(string[] arms, string text, Func<CaseResult, (double[] Values, double Limit, string Text)> measure, Func<double, string> format)
    {
        Arms = arms;
        Text = text;
        _measure = measure;
        _format = format;
    }

    /// <summary>The arms that the goal speaks of: it is one for the category that has them.</summary>
    public IReadOnlyList<string> Arms { get; }

    /// <summary>The goal in words.</summary>
    public string Text { get; }

    /// <summary>At most this share of another arm's time.</summary>
    public static Goal TimeRatio(string arm, string against, double limit) => new(
        [arm, against],
        Invariant($"{arm} takes at most {limit:0.###}x the time of {against}"),
        result => (CaseResult.TimeRatios(result[arm], result[against]), limit, ""),
        static value => Invariant($"{value:0.000}x"));

    /// <summary>At most this share of another arm's processor time.</summary>
    public static Goal ProcessorRatio(string arm, string against, double limit) => new(
        [arm, against],
        Invariant($"{arm} takes at most {limit:0.###}x the processor time of {against}"),
        result => (CaseResult.ProcessorRatios(result[arm], result[against]), limit, ""),
        static value => Invariant($"{value:0.000}x"));

    /// <summary>At most this time for a run.</summary>
    public static Goal TimePerRun(string arm, TimeSpan limit) => new(
        [arm],
        Invariant($"{arm} takes at most {Format.Time(limit.TotalNanoseconds)} a run"),
        result => (Times(result[arm]), limit.TotalNanoseconds, ""),
        Format.Time);

    /// <summary>About this time for a run, no more and no less than a share of it.</summary>
    public static Goal TimeWithin(string arm, TimeSpan target, double share) => new(
        [arm],
        Invariant($"{arm} is within {share:P0} of {Format.Time(target.TotalNanoseconds)} a run"),
        result =>
        {
            Spread time = result[arm].Nanoseconds;
            return ([Math.Abs((time.Median / target.TotalNanoseconds) - 1)], share,
                Invariant($" off at {Format.Time(time.Median)} [{Format.Time(time.Min)}..{Format.Time(time.Max)}]"));
        },
        static value => Invariant($"{value:P1}"));

    /// <summary>At most so many nanoseconds an item more than another arm, compared round by round.</summary>
    public static Goal AddedTimePerItem(string arm, string against, double nanoseconds) => new(
        [arm, against],
        Invariant($"{arm} takes at most {nanoseconds:0.#} ns an item more than {against}"),
        result => ([.. CaseResult.AddedTimes(result[arm], result[against]).Select(time => time / result.Items)], nanoseconds, ""),
        static value => Invariant($"{value:0.0} ns"));

    /// <summary>At most this many bytes for a run.</summary>
    public static Goal BytesPerRun(string arm, double limit) => new(
        [arm],
        Invariant($"{arm} allocates at most {limit:N0} B a run"),
        result => ([Math.Round(result[arm].Bytes)], limit, ""),
        static value => Invariant($"{value:N0} B"));

    /// <summary>At most this many bytes for an item.</summary>
    public static Goal BytesPerItem(string arm, double limit) => new(
        [arm],
        Invariant($"{arm} allocates at most {limit:0.#} B an item"),
        result => ([Math.Round(result[arm].Bytes / result.Items, 1)], limit, ""),
        static value => Invariant($"{value:0.0} B"));

    /// <summary>At most so many work items of the thread pool for an item.</summary>
    public static Goal HopsPerItem(string arm, double limit) => new(
        [arm],
        Invariant($"{arm} has at most {limit:0.##} work items of the pool an item"),
        result => ([Math.Round(result[arm].Hops / result.Items, 3)], limit, ""),
        static value => Invariant($"{value:0.###}"));

    /// <summary>At most this multiple of another arm's bytes for an item, and a few bytes, for each item and for the run, for what a run costs.</summary>
    public static Goal BytesRatio(string arm, string against, double limit, double extraBytesPerItem = 0, double extraBytes = 0) => new(
        [arm, against],
        extraBytesPerItem > 0
            ? Invariant($"{arm} allocates at most {limit:0.###}x the bytes of {against} and {extraBytesPerItem:0.#} B an item{Extra(extraBytes)}")
            : Invariant($"{arm} allocates at most {limit:0.###}x the bytes of {against}"),
        result => ([result[arm].Bytes / result.Items], (result[against].Bytes / result.Items * limit) + extraBytesPerItem + (extraBytes / result.Items), ""),
        static value => Invariant($"{value:0.0} B an item"));

    /// <summary>The goal, the measured value and whether it is met, as a sentence.</summary>
    public string Evaluate(CaseResult result)
    {
        (double[] values, double limit, string text) = _measure(result);
        if (values.Length == 0 || values.Any(double.IsNaN) || double.IsNaN(limit))
        {
            return $"{Text}: not judged, because there is no round to judge by";
        }

        // What is one value only has its range in the text.
        return values.Length > 1 || text.Length == 0
            ? $"{Text}: {GoalVerdict.AtMost(values, limit, _format)}"
            : $"{Text}: {_format(values[0])}{text}, {GoalVerdict.AtMost(values[0], values[0], values[0], limit)}";
    }

    private static string Extra(double bytes) => bytes > 0 ? Invariant($", and {bytes:0.#} B a run") : "";

    private static double[] Times(ArmResult arm) => [.. arm.Samples.Select(static sample => sample.Nanoseconds)];
}
