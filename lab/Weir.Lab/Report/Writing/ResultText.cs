namespace Weir.Lab.Report.Writing;

/// <summary>Writes a result for people at a terminal, or for a file that people read.</summary>
internal static class ResultText
{
    private const int MostSentences = 4;

    /// <summary>Writes it, without the single rounds.</summary>
    public static void Write(ResultFile result, TextWriter output, TextStyle style) => Of(result).Write(output, style);

    /// <summary>What it says, without the single rounds.</summary>
    public static TextReport Of(ResultFile result) => new($"weir {result.Command}   {result.Work}")
    {
        Groups =
        [
            [
                ("machine", Text(result.Machine)),
                .. result.Machine.Variables.Concat(result.Settings).Select(static s => (s.Key, s.Value)),
                .. result.Source is { } source ? [("commit", source.Text)] : Array.Empty<(string, string)>(),
                .. PeakResident(result) is { } peak ? [("peak_rss", peak)] : Array.Empty<(string, string)>(),
                .. Partial(result.Partial),
            ],
            .. Runtimes(result),
        ],
        Tables = ResultTables.Summary(result),
        Lines = [.. Legend.Of(result), .. Sentences(result)],
    };

    /// <summary>The machine on one line.</summary>
    public static string Machine(MachineRecord machine) => $"machine={Text(machine)}";

    /// <summary>The verdicts and findings, a sentence each.</summary>
    public static IEnumerable<string> Sentences(ResultFile result)
    {
        // Many comparisons are easier to read as a table.
        if (result.Comparisons.Count(static c => c.Figure == ComparedFigure.Rate) <= MostSentences)
        {
            foreach (ComparisonRecord comparison in result.Comparisons)
            {
                yield return $"VERDICT  {Sentence(comparison)}";
            }
        }

        foreach (string line in Sentences(result.Findings))
        {
            yield return line;
        }
    }

    /// <summary>Findings, a sentence each.</summary>
    public static IEnumerable<string> Sentences(IEnumerable<Finding> findings) => findings.Select(static finding => finding.Level switch
    {
        FindingLevel.Invalid => $"INVALID  {finding.Text}",
        FindingLevel.Doubt => $"!        {finding.Text}",
        _ => $"note     {finding.Text}",
    });

    public static string Sentence(ComparisonRecord c) => c.Figure == ComparedFigure.Bytes ? BytesSentence(c) : FormattableString.Invariant(
        $"{What(c)} {Verb(c.Verdict)} {c.Against}: {c.ValuesText}{c.Ratio:0.000}x [{c.Interval}], p = {Numbers.Short(c.P)} ")
            + FormattableString.Invariant($"({(1 - c.Alpha) * 100:0.##} % interval, margin {c.Margin * 100:0.#} %, alpha {c.Alpha * 100:0.#} %)")
        + (c.Note is null ? "" : "; " + c.Note);

    private static string What(ComparisonRecord c) => c.Figure == ComparedFigure.Rate ? c.Arm : $"{FigureWords.Of(c.Figure)} of {c.Arm}";

    private static string BytesSentence(ComparisonRecord c) =>
        $"{c.Arm} {(c.Verdict is Verdict.More or Verdict.Less ? $"allocates {VerdictWords.Of(c.Verdict)} than" : Verb(c.Verdict))} {c.Against}: "
            + $"{c.ValuesText}[{c.Interval}]{(c.Note is null ? "" : "; " + c.Note)}";

    // The lines of each runtime that passes went through. Its name is among the settings if there is only one.
    private static IEnumerable<(string, string)[]> Runtimes(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.Settings.ContainsKey(PassFigures.Runtime))];
        return arms.Select(arm => ((string, string)[])
        [
            .. arms.Length > 1 ? [(PassFigures.Runtime, arm.Settings[PassFigures.Runtime])] : Array.Empty<(string, string)>(),
            .. PassFigures.Of(arm, result.Arms) is { } figures ? Lines(figures) : [("processed", "0")],
            .. arm.Decisions.Select(static decision => ("decision", decision.ToString())),
            .. Partial(arm.Rounds.Count == 0 || arm.Rounds.Any(static r => r.Partial)),
        ]);
    }

    private static (string, string)[] Lines(PassFigures figures) =>
    [
        ("processed", Numbers.Grouped(figures.Processed)),
        ("elapsed", FormattableString.Invariant($"{figures.ElapsedSeconds:F6} sec")),
        ("throughput", $"{Numbers.Grouped(figures.ThroughputPerSecond)} items/sec"),
        ("gc_count", FormattableString.Invariant($"{figures.GcCount:#,0.##}")),
        .. figures.Failed > 0 ? [("failed", Numbers.Grouped(figures.Failed))] : Array.Empty<(string, string)>(),
        .. figures.TimedOut > 0 ? [("timed_out", Numbers.Grouped(figures.TimedOut))] : Array.Empty<(string, string)>(),
        ("checksum", figures.Checksum is { } checksum ? $"{checksum} (verified)" : "none (no pass was completed)"),
    ];

    private static (string, string)[] Partial(bool isPartial) => isPartial ? [("partial", "true")] : [];

    // The most that the process had resident, over all arms: they share it only where passes are measured.
    private static string? PeakResident(ResultFile result) => result.Arms.Any(static a => a.HasPasses)
        && result.Arms.SelectMany(static a => a.Rounds).Max(static r => r.PeakResidentBytes) is { } most ? Numbers.Bytes(most) : null;

    private static string Text(MachineRecord machine) =>
        $"{machine.Cores} cores, {machine.Cpu}, {machine.Os}, {machine.Architecture}; .NET {machine.Dotnet}, {machine.Gc} GC; hash {machine.Hash}";

    private static string Verb(Verdict verdict) =>
        $"is {VerdictWords.Of(verdict)} {verdict switch { Verdict.Equivalent => "to", Verdict.Inconclusive => "against", _ => "than" }}";
}
