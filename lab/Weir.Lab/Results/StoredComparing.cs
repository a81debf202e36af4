namespace Weir.Lab.Results;

/// <summary>
/// Compares arms that were not measured in turns. Everything that happened to the machine in between is part of the difference, so there is a verdict on rates
/// and latencies only from several processes on each side, on a machine that was quiet and as fast both times. Bytes need none of this.
/// </summary>
/// <param name="before">The result that is compared with, and its name.</param>
/// <param name="after">The result that is compared, and its name.</param>
/// <param name="options">Margin, level and figures.</param>
/// <param name="acrossMachines">Whether the two may be of different machines.</param>
internal sealed class StoredComparing((string Name, ResultFile Result) before, (string Name, ResultFile Result) after, ComparisonOptions options,
    bool acrossMachines)
{
    /// <summary>With fewer processes on a side there is no verdict on rates and latencies.</summary>
    public const int LeastProcesses = 5;

    private const string InTurns = "or measure the two in turns: weir compare with both builds or workloads";

    // The same of both: what differs between two measurings of it is no difference of the work.
    private readonly double _clock = Math.Max(before.Result.Machine.ClockNs, after.Result.Machine.ClockNs);

    /// <summary>Compares pairs of arms.</summary>
    /// <param name="pairs">The arms of the two results.</param>
    /// <param name="labels">The labels of the two in the comparisons.</param>
    public IReadOnlyList<ComparisonRecord> All(
        IReadOnlyList<(ArmRecord Before, ArmRecord After)> pairs, Func<(ArmRecord Before, ArmRecord After), (string Before, string After)> labels)
    {
        ComparisonOptions each = options.OfEach();
        ComparisonRecord[] all = [.. pairs.SelectMany(p => options.Figures.Select(f => Of(p, labels(p), f, each)).OfType<ComparisonRecord>())];
        double[] adjusted = Holm.Adjust([.. all.Select(static c => c.P)]);
        return [.. all.Select((c, i) => c.Figure == ComparedFigure.Bytes ? c : Judged(c with { P = adjusted[i] }, each))];
    }

    private ComparisonRecord? Of(
        (ArmRecord Before, ArmRecord After) pair, (string Before, string After) labels, ComparedFigure figure, ComparisonOptions each)
    {
        (ArmProcesses x, ArmProcesses y) = (new ArmProcesses(before.Result, pair.Before), new ArmProcesses(after.Result, pair.After));
        string? obstacle = Obstacle(x, y);
        ComparisonRecord record = new()
        {
            Arm = labels.After,
            Against = labels.Before,
            Figure = figure,
            Ratio = 1,
            Low = 0,
            High = double.PositiveInfinity,
            P = 1,
            Margin = options.Margin,
            Alpha = each.Alpha,
            Processes = Math.Min(x.Count, y.Count),
            Verdict = Verdict.Inconclusive,
            Note = obstacle,
        };
        if (figure == ComparedFigure.Bytes)
        {
            return Comparing.Bytes(pair.After, pair.Before, record, each) is not { } bytes ? null
                : bytes is { Interval: "exact" } or { Verdict: Verdict.Inconclusive } || obstacle is null ? bytes with { Note = null, Processes = null }
                : bytes with { Verdict = Verdict.Inconclusive };
        }

        bool isRate = figure == ComparedFigure.Rate;
        LatencyReading reading = LatencyReading.Of(figure, _clock, pair.Before, pair.After);
        double[] baseline = isRate ? x.Rates() : x.Latencies(reading);
        double[] candidate = isRate ? y.Rates() : y.Latencies(reading);
        if (baseline.Length == 0 || candidate.Length == 0)
        {
            // Nothing to show, but a rate that was measured by nobody undisturbed is said.
            return isRate ? record with { Ratio = pair.After.Rate().Median / pair.Before.Rate().Median } : null;
        }

        (double was, double now) = (Spread.Of(baseline).Median, Spread.Of(candidate).Median);
        double step = isRate ? 0 : reading.StepOfRatio(was, now);
        Welch test = Welch.Of([.. baseline.Select(static v => Math.Log(v))], [.. candidate.Select(static v => Math.Log(v))], each.Level, step);
        return record with
        {
            Ratio = Math.Exp(test.Difference),
            Low = Math.Exp(test.Difference - test.Half),
            High = Math.Exp(test.Difference + test.Half),
            P = test.P,
            Value = isRate ? null : now,
            AgainstValue = isRate ? null : was,
        };
    }

    private static ComparisonRecord Judged(ComparisonRecord record, ComparisonOptions each) => record.Note is not null ? record
        : record with { Verdict = Comparing.Decide(record, each) };

    private string? Obstacle(ArmProcesses x, ArmProcesses y)
    {
        (string Name, ResultFile Result)? disturbed = x.IsDisturbed ? before : y.IsDisturbed ? after : null;
        return disturbed is { Result.Command: BenchmarkDotNetReport.Command } report
            ? $"{report.Name} does not say what else ran on the machine: only its bytes are compared, {InTurns}"
            : disturbed is { } side ? $"other programs were running when {side.Name} was measured: measure it again on a quiet machine, {InTurns}"
            : before.Result.Machine.Hash != after.Result.Machine.Hash && !acrossMachines
                ? "the two are of different machines or environments: --across machine compares them all the same"
            : Math.Min(x.Count, y.Count) < LeastProcesses
                ? $"{(x.Count < y.Count ? before.Name : after.Name)} has only {Math.Min(x.Count, y.Count)} of at least {LeastProcesses} processes that "
                    + $"count: measure it again with --processes 8, {InTurns}"
            : !acrossMachines && x.Speed is { } was && y.Speed is { } now && Math.Abs(Math.Log(now / was)) > Math.Log(1 + (options.Margin / 2))
                ? FormattableString.Invariant($"the processor itself was {Math.Abs((now / was) - 1) * 100:0.0} % ")
                    + $"{(now > was ? "faster" : "slower")} when {after.Name} was measured: measure both again, {InTurns}"
            : null;
    }
}
