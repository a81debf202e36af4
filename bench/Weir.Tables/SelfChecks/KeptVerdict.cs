namespace Weir.Tables.SelfChecks;

/// <summary>The outcome of one <c>weir compare</c>, from its result file.</summary>
/// <param name="Comparison">The comparison, with a ratio of rates; <see langword="null"/> when nothing could be compared.</param>
/// <param name="Seconds">How long the command took.</param>
/// <param name="StartedAt">When it began.</param>
/// <param name="IsUnquiet">Whether others had a part of the machine.</param>
internal sealed record KeptVerdict(ComparisonRecord? Comparison, double Seconds, DateTimeOffset StartedAt, bool IsUnquiet)
{
    /// <summary>What a result of <c>weir compare</c> comes to.</summary>
    public static KeptVerdict Of(ResultFile result) =>
        new(Deciding(result.Comparisons), result.Seconds, result.StartedAt, result.IsOfAnUnquietMachine);

    // A difference by any figure, also a false one; or else that figure which is decided.
    private static ComparisonRecord? Deciding(IReadOnlyList<ComparisonRecord> all) => all.Where(static c => c.Figure != ComparedFigure.Bytes)
        .MinBy(static c => c.Verdict switch { Verdict.Slower or Verdict.Faster => 0, Verdict.Inconclusive => 2, _ => 1 }) switch
        {
            { Figure: not ComparedFigure.Rate } time => time with { Ratio = 1 / time.Ratio, Low = 1 / time.High, High = 1 / time.Low },
            var rate => rate,
        };
}
