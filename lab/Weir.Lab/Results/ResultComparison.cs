namespace Weir.Lab.Results;

/// <summary>Compares two results that were measured one after the other: each arm with the arm of the same name and workers. Thread-safe.</summary>
public static class ResultComparison
{
    // What --across calls the machine and its environment.
    private const string Machine = "machine";

    /// <summary>Compares.</summary>
    /// <param name="before">The one that is compared with, and what it is called in the arms of the result.</param>
    /// <param name="after">The one that is compared, and what it is called.</param>
    /// <param name="options">What counts as a difference; <see langword="null"/> for 3 % and a level of 1 %.</param>
    /// <param name="across">
    /// The settings that may differ between the two, by name, and <c>machine</c> for two machines; <see langword="null"/> for none.
    /// </param>
    /// <returns>
    /// A result with the arms of both, in pairs, and comparisons of each pair. Its findings say that the two were not measured in turns. Rates and latencies
    /// get a verdict only from at least five processes on each side, on a machine that was quiet and as fast both times; the note says what is missing.
    /// </returns>
    /// <exception cref="ArgumentOutOfRangeException">An option is outside its range.</exception>
    /// <exception cref="IncomparableResultsException">They have nothing in common, or differ in a setting that is not in <paramref name="across"/>.</exception>
    public static ResultFile Of(
        (string Name, ResultFile Result) before, (string Name, ResultFile Result) after, ComparisonOptions? options = null,
        IReadOnlyList<string>? across = null)
    {
        ArgumentNullException.ThrowIfNull(before.Result, nameof(before));
        ArgumentNullException.ThrowIfNull(after.Result, nameof(after));
        options ??= new ComparisonOptions();
        options.Validate();
        (ArmRecord Before, ArmRecord After)[] pairs =
        [
            .. from b in before.Result.Arms
               join a in after.Result.Arms on (b.Name, b.Workers) equals (a.Name, a.Workers)
               where a.IsMeasured && b.IsMeasured
               select (b, a),
        ];

        // A single arm on each side is meant to be compared, whatever it is called.
        if (pairs.Length == 0 && before.Result.Arms.Count == 1 && after.Result.Arms.Count == 1 && before.Result.Arms[0].IsMeasured
            && after.Result.Arms[0].IsMeasured)
        {
            pairs = [(before.Result.Arms[0], after.Result.Arms[0])];
        }

        if (pairs.Length == 0)
        {
            throw new IncomparableResultsException(
                $"'{before.Name}' and '{after.Name}' have no arm in common; the name and the workers of an arm must be the same in both.");
        }

        List<Finding> findings =
        [
            .. new[] { before, after }.SelectMany(
                static side => side.Result.Findings.Where(static f => f.Level != FindingLevel.Note),
                static (side, f) => f with { Text = $"{side.Name}: {f.Text}" }),
        ];
        if (before.Result.Machine.Hash != after.Result.Machine.Hash)
        {
            findings.Add(new Finding(FindingLevel.Doubt, $"The two were measured in different environments ({before.Result.Machine.Hash} and "
                + $"{after.Result.Machine.Hash}): the difference may be the machine's.", FindingKind.Difference));
        }

        string[] different =
        [
            .. pairs.SelectMany(p => SettingDifferences.Check((before.Name, before.Result, p.Before), (after.Name, after.Result, p.After), across ?? []))
                .Distinct(),
        ];
        if (different.Length > 0)
        {
            findings.Add(new Finding(FindingLevel.Note, $"The two differ in {string.Join(", ", different)}, as --across allows.", FindingKind.Difference));
        }

        findings.Add(new Finding(FindingLevel.Doubt,
            "The two were measured one after the other, not in turns; the difference includes changes of the machine in between.", FindingKind.Difference));
        findings.AddRange(InOneOnly(before.Name, before.Result, pairs.Select(static p => p.Before)));
        findings.AddRange(InOneOnly(after.Name, after.Result, pairs.Select(static p => p.After)));
        IReadOnlyList<ComparisonRecord> comparisons = new StoredComparing(before, after, options, across?.Contains(Machine) == true).All(
            pairs, p => ($"{before.Name}: {p.Before.Label}", $"{after.Name}: {p.After.Label}"));
        findings.AddRange(WithoutWord(options, pairs, p => $"{after.Name}: {p.Label}", comparisons));
        ArmRecord[] labelled = [.. pairs.SelectMany(
            p => new[] { p.Before with { Name = $"{before.Name}: {p.Before.Name}" }, p.After with { Name = $"{after.Name}: {p.After.Name}" } })];
        return after.Result with
        {
            Command = "compare",
            Arguments = [],
            Partial = before.Result.Partial || after.Result.Partial,
            Arms = [.. Reordered(labelled)],
            Fits = [],
            Findings = findings,
            Comparisons = comparisons,
        };
    }

    // A benchmark that failed has no result on its side, and would go missing without a word.
    private static IEnumerable<Finding> InOneOnly(string name, ResultFile result, IEnumerable<ArmRecord> compared)
    {
        string[] others = [.. result.Arms.Where(static a => a.IsMeasured).Except(compared).Select(static a => a.Label)];
        return others.Length == 0
            ? []
            : [new Finding(FindingLevel.Doubt, $"Not compared, because only {name} has a result: {string.Join(", ", others)}.", FindingKind.Difference)];
    }

    // A percentile that was asked for and is not there would look like one without a difference.
    private static IEnumerable<Finding> WithoutWord(
        ComparisonOptions options, (ArmRecord Before, ArmRecord After)[] pairs, Func<ArmRecord, string> label, IReadOnlyList<ComparisonRecord> compared) =>
        from figure in options.Figures
        where figure is not (ComparedFigure.Rate or ComparedFigure.Bytes)
        from pair in pairs
        where !compared.Any(c => c.Figure == figure && c.Arm == label(pair.After))
        select new Finding(FindingLevel.Doubt, $"{FigureWords.Of(figure)} of {label(pair.After)} was not compared: it needs processes with enough latencies "
            + "on both sides.", FindingKind.Difference);

    // The rounds of the two follow each other, as they were measured.
    private static IEnumerable<ArmRecord> Reordered(ArmRecord[] arms)
    {
        int last = arms.Where(static (_, i) => i % 2 == 0).SelectMany(static a => a.Rounds).Max(static r => r.Order);
        return arms.Select((arm, i) => i % 2 == 0 ? arm : arm with { Rounds = [.. arm.Rounds.Select(r => r with { Order = r.Order + last })] });
    }
}
