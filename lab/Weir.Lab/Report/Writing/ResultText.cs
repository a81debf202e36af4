namespace Weir.Lab.Report.Writing;

/// <summary>Writes a result for people at a terminal, or for a file that people read.</summary>
internal static class ResultText
{
    private const int MostSentences = 4;

    /// <summary>Writes it, without the single rounds.</summary>
    public static void Write(ResultFile result, TextWriter output, TextStyle style) => Of(result).Write(output, style);

    /// <summary>What it says, without the single rounds.</summary>
    public static TextReport Of(ResultFile result) => new($"weir {result.Command}   {result.Work}", AnswerLines(Answer.Of(result)))
    {
        Picture = width => TextPicture.Of(result, width),
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

    /// <summary>The answer and what it rests on, a line each.</summary>
    public static string[] AnswerLines(Answer answer) => answer.Ground.Length == 0 ? [answer.Sentence] : [answer.Sentence, answer.Ground];

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
            + $"{c.ValuesText}{(c.IsFromNothing ? "" : $"[{c.Interval}]")}{(c.Note is null ? "" : "; " + c.Note)}";

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

/// <summary>
/// The content of a report for people, at a terminal or in a file, before it is written: first the answer, then one picture, then tables, then what to know of
/// them, and last how it was measured.
/// </summary>
/// <param name="Title">The command and what it was about.</param>
/// <param name="Answer">The answer and what it rests on, a line each.</param>
internal sealed record TextReport(string Title, IReadOnlyList<string> Answer)
{
    /// <summary>The lines of the picture for a width; none where there is nothing to see.</summary>
    public Func<int?, IReadOnlyList<string>> Picture { get; init; } = static _ => [];

    /// <summary>Groups of keys and values: that of the run, and behind it others, such as one for each arm.</summary>
    public required IReadOnlyList<IReadOnlyList<(string Key, string Value)>> Groups { get; init; }

    public required IReadOnlyList<Table> Tables { get; init; }

    /// <summary>The remarks below the tables, one for each line.</summary>
    public required IReadOnlyList<string> Lines { get; init; }

    public void Write(TextWriter output, TextStyle style)
    {
        Prose prose = new(output, style.Width);
        prose.Write(Answer);
        foreach (string line in Picture(style.Width) is { Count: > 0 } picture ? ["", .. picture] : Array.Empty<string>())
        {
            output.WriteLine(line);
        }

        List<string> noRoom = [];
        foreach (Table table in Tables)
        {
            output.WriteLine();
            noRoom.AddRange(TableText.Write(table, output, style));
        }

        output.WriteLine();
        prose.Write(Lines);
        prose.Write(NoRoom(noRoom));
        output.WriteLine();
        prose.Write([Title]);
        for (int i = 0; i < Groups.Count; i++)
        {
            if (i > 0)
            {
                output.WriteLine();
            }

            prose.Write(Groups[i].Select(static g => $"{g.Key}={g.Value}"));
        }
    }

    /// <summary>The line about figures that tables had no room for.</summary>
    public static IEnumerable<string> NoRoom(IReadOnlyList<string> heads) => heads.Count == 0 ? []
        : [$"note     no room here for: {string.Join(", ", heads.Distinct())}. A wider terminal, a pipe and --export md have them."];
}

/// <summary>Writes sentences, on a terminal broken between words.</summary>
/// <param name="output">Where they go.</param>
/// <param name="width">How long a line may be; <see langword="null"/> for no limit.</param>
internal sealed class Prose(TextWriter output, int? width)
{
    // The share of a line that a mark may take.
    private const int MarkShare = 3;

    /// <summary>Writes each as a paragraph of its own. Those that begin with a mark, such as a finding, go on below the text behind it.</summary>
    public void Write(IEnumerable<string> texts)
    {
        foreach (string line in texts.SelectMany(t => Wrapped(t, width)))
        {
            output.WriteLine(line);
        }
    }

    private static List<string> Wrapped(string text, int? width)
    {
        if (width is not { } most || text.Length <= most)
        {
            return [text];
        }

        // Behind the last gap of several spaces that is near the beginning, as in "!  canary   varies".
        int gap = text.AsSpan(0, most / MarkShare).LastIndexOf("  ");
        int mark = gap < 0 ? 0 : gap + text.AsSpan(gap).IndexOfAnyExcept(' ');
        List<string> lines = [text[..mark]];
        foreach (string word in text[mark..].Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (lines[^1].Length > mark && lines[^1].Length + 1 + word.Length > most)
            {
                lines.Add(new string(' ', mark));
            }

            lines[^1] += (lines[^1].Length > mark ? " " : "") + word;
        }

        return lines;
    }
}

/// <summary>How to read the tables of items, a line each.</summary>
internal static class Legend
{
    /// <summary>The setting that says whether the next message waits for others; an open loop does not.</summary>
    public const string Loop = "loop";

    /// <summary>The value of that setting for messages that are published at their time.</summary>
    public const string Open = "open";

    public static IEnumerable<string> Of(ResultFile result) =>
        [.. result.Arms.Any(static a => a.HasPasses) ? OfPasses(result) : [], .. result.Settings.ContainsKey(Loop) ? OfQueues(result) : []];

    private static IEnumerable<string> OfPasses(ResultFile result)
    {
        string windows = $"{(result.Partial ? "up to " : "")}{result.Settings.GetValueOrDefault("trials", "some")} windows";
        yield return $"items/s       median [min..max] of {windows}, in turns with the others";
        yield return "ns/item       elapsed time; above direct: beyond an item of the direct runtime";
        yield return "B, CPU, GC    of the whole process with the work itself; CPU seconds and collections per million items";
        if (result.Settings.TryGetValue("peer_degree", out string? degree))
        {
            yield return "x             items/s relative to the plain loop, and to Parallel.ForEachAsync";
            yield return $"peers         up to {degree} items in flight; each result is stored in an array in input order, as the runtimes do";
        }
    }

    private static IEnumerable<string> OfQueues(ResultFile result)
    {
        yield return "items=        how many travel together: a message of RabbitMQ, a statement that enqueues or takes in PostgreSQL, a batch in memory";
        yield return "items/s       median [min..max] over the windows; CPU s/M: processor seconds of this process per million items, without the server's";
        yield return result.Settings[Loop] == Open
            ? "latency       open load: from the moment at which an item should have been published to its acknowledgement"
            : "latency       closed load: from the call that publishes to the acknowledgement, so it grows with the items in flight; --rate gives a load";
        yield return result.Settings.ContainsKey("ordered")
            ? "out of order  processed after a later item of the same key, which the order forbids; duplicates are allowed, and lost items are not"
            : "out of order  processed after a later item of the same key, as is allowed without --ordered; duplicates are allowed too, and lost items are not";
    }
}
