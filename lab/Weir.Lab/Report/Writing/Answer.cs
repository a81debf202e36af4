namespace Weir.Lab.Report.Writing;

/// <summary>
/// What a result comes to, before any table: a sentence that answers what was asked, and a second one that says why to believe it. All forms of a result begin
/// with them. A result that is not valid, or that decides nothing, has an answer that begins with <c>Cannot say</c> and gives the reason in the same sentence.
/// </summary>
/// <param name="Sentence">The answer.</param>
/// <param name="Ground">What it rests on, and what speaks against it; empty where the answer has said why there is none.</param>
internal sealed record Answer(string Sentence, string Ground)
{
    // Of several rates, the smallest number of workers within this share of the highest is where more gain nothing.
    private const double Enough = 0.95;

    private const int MostNamed = 4;
    private const double ClearFactor = 1.02;

    /// <summary>Both sentences.</summary>
    public string Text => Ground.Length == 0 ? Sentence : $"{Sentence} {Ground}";

    /// <summary>The answer of a result.</summary>
    public static Answer Of(ResultFile result)
    {
        ArmRecord[] measured = [.. result.Arms.Where(static a => a.OrPart().IsMeasured)];
        Finding[] invalid = [.. result.Findings.Where(static f => f.Level == FindingLevel.Invalid)];
        if (invalid.Length > 0)
        {
            string others = invalid.Length == 1 ? "" : $" ({Numbers.Counted(invalid.Length - 1, "more reason")} below)";
            return new Answer($"Cannot say {Question(result)}: {Inside(result, invalid[0].Text).TrimEnd('.')}{others}.", "");
        }

        if (measured.Length == 0)
        {
            return new Answer($"Cannot say {Question(result)}: nothing was measured to its end.", "");
        }

        if (result.Comparisons.Count > 0 && !measured.Any(static a => a.HasPasses))
        {
            return new Answer(Compared(result), Basis(result, UnitsOf(result)));
        }

        string sentence = measured.Any(static a => a.HasPasses) ? Passes(measured) : string.Join(" ", Measured(result, measured)) + Failures(measured);
        return new Answer(sentence + (sentence.EndsWith('.') ? "" : "."), Basis(result, RoundsOf(measured)));
    }

    /// <summary>From one rate to another, in words.</summary>
    public static string Range(double low, double high) =>
        high < 10_000 ? $"{Numbers.Rate(low)} to {Numbers.Rate(high)}" : Numbers.Scaled(low, high).Replace("..", " to ", StringComparison.Ordinal);

    /// <summary>The name of an arm in a sentence: that of its runtime, if it is one.</summary>
    public static string NameOf(ArmRecord arm) => arm.Settings.GetValueOrDefault(PassFigures.Runtime, arm.Name);

    // What the command was asked, after "cannot say".
    private static string Question(ResultFile result)
    {
        string[] names = [.. result.Names()];
        return result.Command == "gate" ? "whether the change may pass"
            : result.Command == "compare" && names is [var first, var second] ? $"whether {second} is faster or slower than {first}"
            : names is [var only] ? (Swept(result.Arms).Any() ? $"how {only} follows its workers" : $"how fast {only} is")
            : "which is the fastest";
    }

    // A finding in the middle of a sentence. Names keep their letters.
    private static string Inside(ResultFile result, string text) =>
        text.Length > 1 && char.IsUpper(text[0]) && char.IsLower(text[1]) && !result.Names().Any(n => text.StartsWith(n, StringComparison.Ordinal))
            ? char.ToLowerInvariant(text[0]) + text[1..]
            : text;

    private static string Compared(ResultFile result)
    {
        // What needs attention comes first; of figures, the rate. Bytes have their place behind it.
        ComparisonRecord[] timed = [.. result.Comparisons.Where(static c => c.Figure != ComparedFigure.Bytes)];
        bool isGate = result.Command == "gate";
        ComparisonRecord first = timed.FirstOrDefault(static c => c.Verdict == Verdict.Slower)
            ?? (isGate ? result.Comparisons.FirstOrDefault(static c => c.Verdict == Verdict.More) : null)
            ?? timed.FirstOrDefault(static c => c.Verdict == Verdict.Faster)
            ?? result.Comparisons.FirstOrDefault(static c => c.Verdict is Verdict.More or Verdict.Less)
            ?? (timed.All(static c => c.Verdict == Verdict.Equivalent) ? timed.FirstOrDefault() : null)
            ?? timed.FirstOrDefault(static c => c is { Verdict: Verdict.Inconclusive, Figure: ComparedFigure.Rate })
            ?? timed.FirstOrDefault(static c => c.Verdict == Verdict.Inconclusive)
            ?? result.Comparisons[0];
        ComparisonRecord[] own = [.. result.Comparisons.Where(c => c.Arm == first.Arm && c.Against == first.Against)];
        string said = Claim(result, first);

        // Other figures of the same two that say something else.
        foreach (ComparisonRecord other in own.Where(c => c != first && c.Verdict is not (Verdict.Inconclusive or Verdict.Equivalent) && !SaysTheSame(c, first)))
        {
            said += $"; {Aside(other)}";
        }

        if (first.Figure == ComparedFigure.Bytes && own.FirstOrDefault(static c => c.Verdict == Verdict.Inconclusive) is { } open)
        {
            said += $"; which is faster is not decided: {Undecided(open)}";
        }

        if (first.Verdict == Verdict.Inconclusive && own.FirstOrDefault(static c => c.Figure != ComparedFigure.Bytes && c.Verdict == Verdict.Equivalent) is { } same)
        {
            said += $"; by {Word(same.Figure)} they are equally fast";
        }

        (string Arm, string Against)[] pairs = [.. result.Comparisons.Select(static c => (c.Arm, c.Against)).Distinct()];
        if (pairs.Length > 1)
        {
            string counts = string.Join(", ", pairs.Select(p => Worst([.. result.Comparisons.Where(c => (c.Arm, c.Against) == p)]))
                .GroupBy(static v => v).OrderBy(static g => g.Key).Select(static g => $"{Numbers.Grouped(g.Count())} {VerdictWords.Of(g.Key)}"));
            said += $"; of {Numbers.Grouped(pairs.Length)} compared: {counts}";
        }

        return !isGate ? said + "."
            : result.Comparisons.Any(static c => c.IsWorse) ? $"Fails: {said}."
            : first.Verdict == Verdict.Inconclusive ? $"Passes, as nothing is certainly worse: {char.ToLowerInvariant(said[0])}{said[1..]}."
            : $"Passes: {said}.";
    }

    // The verdict that a pair is counted by.
    private static Verdict Worst(ComparisonRecord[] figures) =>
        figures.Select(static c => c.Verdict).OrderBy(static v => v switch
        {
            Verdict.Slower => 0,
            Verdict.More => 1,
            Verdict.Faster => 2,
            Verdict.Less => 3,
            Verdict.Inconclusive => 4,
            _ => 5,
        }).First();

    private static bool SaysTheSame(ComparisonRecord a, ComparisonRecord b) =>
        a.Verdict == b.Verdict && (a.Figure == ComparedFigure.Bytes) == (b.Figure == ComparedFigure.Bytes);

    private static string Claim(ResultFile result, ComparisonRecord c)
    {
        (ArmRecord? arm, ArmRecord? against) = (ArmOf(result, c.Arm), ArmOf(result, c.Against));
        bool areAlike = arm is not null && against is not null && arm.Workers == against.Workers;
        (string a, string b) = areAlike ? (arm!.Name, against!.Name) : (c.Arm, c.Against);
        string with = areAlike && !arm!.IsProgram ? $" with {Numbers.Counted(arm.Workers, "worker")}" : "";
        string by = c.Figure == ComparedFigure.Rate ? "" : $" by {Word(c.Figure)}";
        (double low, double speed, double high) = c.Speed;
        return c.Verdict switch
        {
            Verdict.Slower => $"{a} is {Factor(1 / speed)} times slower than {b}{with}{by}: {Values(c, arm, against)}"
                + $"{Factor(1 / high)} to {Factor(1 / low)}, {P(c.P)}",
            Verdict.Faster => $"{a} is {Factor(speed)} times faster than {b}{with}{by}: {Values(c, arm, against)}{Factor(low)} to {Factor(high)}, {P(c.P)}",
            Verdict.More or Verdict.Less => $"{a} allocates {Bytes(Math.Abs(c.Value!.Value - c.AgainstValue!.Value))} an operation "
                + $"{(c.Verdict == Verdict.More ? "more" : "less")} than {b}{with}: {Bytes(c.Value.Value)} against {Bytes(c.AgainstValue.Value)}"
                + (c.Low == c.High ? ", exactly" : ""),
            Verdict.Equivalent => FormattableString.Invariant($"{a} is as fast as {b}{with}{by}: {speed:0.000} times, {low:0.000} to {high:0.000}, ")
                + FormattableString.Invariant($"within the margin of {c.Margin * 100:0.#} %"),
            _ => $"Cannot say whether {a} is faster or slower than {b}{with}{by}: {Undecided(c)}",
        };
    }

    private static string Undecided(ComparisonRecord c)
    {
        (double low, double speed, double high) = c.Speed;
        return c.HasInterval
            ? FormattableString.Invariant($"it is {speed:0.000} times as fast, but {low:0.000} to {high:0.000} is possible, and the margin is ")
                + FormattableString.Invariant($"{c.Margin * 100:0.#} %{(c.Note is { } note ? $"; {note}" : "")}")
            : c.Pairs is { } pairs ? $"{Span([pairs], "pair")} of processes {(pairs == 1 ? "gives" : "give")} no interval"
            : c.Processes is { } processes ? $"{Span([processes], "process")} a side {(processes == 1 ? "gives" : "give")} no interval"
            : "there are too few rounds for an interval";
    }

    // Another figure of the two that were just named.
    private static string Aside(ComparisonRecord c)
    {
        (double low, double speed, double high) = c.Speed;
        return c.Verdict switch
        {
            Verdict.Slower => $"by {Word(c.Figure)} it is {Factor(1 / speed)} times slower ({Factor(1 / high)} to {Factor(1 / low)})",
            Verdict.Faster => $"by {Word(c.Figure)} it is {Factor(speed)} times faster ({Factor(low)} to {Factor(high)})",
            _ => $"it allocates {Bytes(c.Value!.Value)} an operation, not {Bytes(c.AgainstValue!.Value)}",
        };
    }

    // The times of programs, which one knows from a clock on the wall.
    private static string Values(ComparisonRecord c, ArmRecord? arm, ArmRecord? against) =>
        c.Figure == ComparedFigure.Rate && arm is { IsProgram: true } && against is { IsProgram: true }
            ? $"{Numbers.Nanoseconds(1e9 / arm.Rate().Median)} a run against {Numbers.Nanoseconds(1e9 / against.Rate().Median)}, "
            : c.ValuesText;

    private static string Word(ComparedFigure figure) => figure switch
    {
        ComparedFigure.Rate => "the rate",
        ComparedFigure.Bytes => "bytes",
        _ => $"the latency at {FigureWords.Of(figure)}",
    };

    private static string Factor(double factor) => factor switch
    {
        < ClearFactor and > 1 / ClearFactor => factor.ToString("0.000", CultureInfo.InvariantCulture),
        < 10 => factor.ToString("0.00", CultureInfo.InvariantCulture),
        < 100 => factor.ToString("0.0", CultureInfo.InvariantCulture),
        _ => Numbers.Grouped(factor),
    };

    private static string P(double p) => p < 0.001 ? "p < 0.001" : FormattableString.Invariant($"p = {p:0.000}");

    private static string Bytes(double bytes) => FormattableString.Invariant($"{bytes:#,0.#} B");

    private static ArmRecord? ArmOf(ResultFile result, string label) => result.Arms.FirstOrDefault(a => a.Label == label);

    // A sentence for each series of workers that was swept, and one for what was not.
    private static IEnumerable<string> Measured(ResultFile result, ArmRecord[] measured)
    {
        IGrouping<string, ArmRecord>[] swept = [.. Swept(measured)];
        foreach (IGrouping<string, ArmRecord> series in swept.Take(MostNamed))
        {
            yield return Sweep(result, [.. series.OrderBy(static a => a.Workers)]) + ".";
        }

        ArmRecord[] others = [.. measured.Where(a => swept.All(s => s.Key != a.Name)).OrderByDescending(static a => a.OrPart().Rate().Median)];
        if (others.Length == 1)
        {
            yield return Alone(result, others[0]);
        }
        else if (others.Length > 1)
        {
            string workers = others.All(a => a.Workers == others[0].Workers) && !others[0].IsProgram ? With(others[0]) : "";
            string Name(ArmRecord arm) => workers.Length > 0 || arm.IsProgram ? NameOf(arm) : arm.Label;
            string rest = Listed([.. others.Skip(1).Select(a => $"{Name(a)} {(a.IsProgram ? Time(a) : RateOf(a))}")]);
            yield return others[0].IsProgram
                ? $"{Name(others[0])} took the least, {Time(others[0])} a run{Interval(others[0])}; then {rest}"
                : $"{Name(others[0])} did the most, {RateOf(others[0])} {result.Unit}/s{Interval(others[0])}{workers}; then {rest}";
        }
    }

    /// <summary>The arms of each name that was measured with several numbers of workers.</summary>
    public static IEnumerable<IGrouping<string, ArmRecord>> Swept(IEnumerable<ArmRecord> arms) =>
        arms.GroupBy(static a => a.Name).Where(static g => g.Select(static a => a.Workers).Distinct().Skip(1).Any());

    private static string Alone(ResultFile result, ArmRecord arm)
    {
        if (arm.IsProgram)
        {
            return $"{arm.Name}: {Time(arm)} a run{Interval(arm)}";
        }

        string rate = result.Settings.TryGetValue("rate", out string? asked) ? $"{RateOf(arm)} of {asked} asked for" : $"{RateOf(arm)} {result.Unit}/s";
        return $"{NameOf(arm)}: {rate}{Interval(arm)}{(arm.HasQueue ? "" : With(arm))}{Tail(result, arm)}";
    }

    // From where on more workers do no more.
    private static string Sweep(ResultFile result, ArmRecord[] series)
    {
        ArmRecord best = series.MaxBy(static a => a.OrPart().Rate().Median)!;
        double most = best.OrPart().Rate().Median;
        ArmRecord first = series.First(a => a.OrPart().Rate().Median >= most * Enough);
        (ArmRecord fewest, ArmRecord largest) = (series[0], series[^1]);
        string name = NameOf(first);
        string did = $"{RateOf(first)} {result.Unit}/s{Interval(first)}";
        string Times(ArmRecord arm) => Factor(arm.OrPart().Rate().Median / fewest.OrPart().Rate().Median);
        return first == fewest
            ? largest.OrPart().Rate().Median >= most * Enough
                ? $"{name} gains nothing from more than {Numbers.Counted(fewest.Workers, "worker")}: {did}; {largest.Workers} do {RateOf(largest)}"
                : $"{name} is fastest with {Numbers.Counted(fewest.Workers, "worker")}: {did}; {largest.Workers} do {RateOf(largest)}, {Times(largest)} of it"
            : first == largest
                ? $"{name} still gains with {Numbers.Counted(first.Workers, "worker")}: {did}, {Times(first)} times that of {fewest.Workers}"
                : $"{name} gains up to {Numbers.Counted(first.Workers, "worker")}: {did}, {Times(first)} times that of {fewest.Workers}; "
                    + $"{largest.Workers} do {RateOf(largest)}";
    }

    // The latency that most would ask for, and what became of the items of a queue.
    private static string Tail(ResultFile result, ArmRecord arm)
    {
        bool isFromIntended = arm.OrPart().Latency(static r => r.Response) is not null;
        string text = "";
        if ((arm.OrPart().Latency(static r => r.Response) ?? arm.OrPart().Latency(static r => r.Service)) is { } latency)
        {
            double[] shown = [99, 90, 50];
            double known = shown.FirstOrDefault(p => KnownPercentile.Of(latency, p, result.Machine.ClockNs) is not null);
            text = known == 0 ? $"; slowest {Numbers.Nanoseconds(latency.Max)}"
                : FormattableString.Invariant($"; p{known:0} {ResultTables.Percentile(latency, known, result.Machine.ClockNs)}");
            text += isFromIntended && !arm.HasQueue ? " from the intended start" : "";
        }

        return arm.HasQueue
            ? $"{text}; {Amount(arm.OrPart().Counted.Sum(static r => r.Lost ?? 0), "lost")}, {Amount(arm.OrPart().Counted.Sum(static r => r.Duplicates ?? 0), "delivered twice")}"
            : text;
    }

    // Failures are said if there are any, and where calls come at a rate, in any case.
    private static string Failures(ArmRecord[] measured)
    {
        RoundRecord[] rounds = [.. measured.SelectMany(static a => a.OrPart().Counted)];
        long failed = rounds.Sum(static r => r.Failures);
        bool isPaced = rounds.Any(static r => r.Response is not null && r.Lost is null);
        long dropped = rounds.Sum(static r => r.Dropped ?? 0);
        string of = $" of {Numbers.Grouped(failed + rounds.Sum(static r => r.Operations))}";
        return failed > 0 ? $"; {Numbers.Grouped(failed)}{of} failed{(dropped > 0 ? $", {Numbers.Grouped(dropped)} dropped" : "")}"
            : isPaced ? $"; none{of} failed, {Amount(dropped, "dropped")}"
            : "";
    }

    private static string Passes(ArmRecord[] measured)
    {
        ArmRecord[] arms = [.. measured.OrderByDescending(static a => a.OrPart().Rate().Median)];
        long failed = arms.Sum(static a => a.OrPart().Counted.Sum(static r => r.Failures));
        long items = failed + arms.Sum(static a => a.OrPart().Counted.Sum(static r => r.Operations));
        string served = failed == 0 ? $"; none of {Numbers.Scaled(items)} failed" : $"; {Numbers.Scaled(failed)} of {Numbers.Scaled(items)} failed";
        if (arms is [var only])
        {
            return $"{NameOf(only)} handled {RateOf(only)} items a second, {Time(only)} an item{served}.";
        }

        // Which is first is seen only afterwards, so there are as many ways to be wrong as there are pairs.
        (ArmRecord first, ArmRecord[] others) = (arms[0], arms[1..]);
        ComparisonOptions options = new();
        options = options with { Alpha = options.Alpha * 2 / (others.Length + 1) };
        IReadOnlyList<ComparisonRecord> compared = Comparing.All(others.Select(o => (o, first)), options, interleaved: true);
        ILookup<Verdict, ArmRecord> by = others.ToLookup(o => compared.FirstOrDefault(c => c.Arm == o.Label)?.Verdict ?? Verdict.Inconclusive);
        string did = $"{RateOf(first)} items a second, {Time(first)} an item";
        string[] Rated(IEnumerable<ArmRecord> some) => [.. some.Select(static a => $"{NameOf(a)} ({RateOf(a)})")];
        ArmRecord[] slower = [.. by[Verdict.Slower]];
        ArmRecord[] open = [.. others.Except(slower)];
        if (open.Length == 0)
        {
            string rest = others.Length == 1 ? "" : $", then {Listed(Rated(others.Skip(1)))}";
            return $"{NameOf(first)} is the fastest: {did}{served}. The next is {NameOf(others[0])} with {RateOf(others[0])}{rest}.";
        }

        return (open.All(by[Verdict.Equivalent].Contains)
                ? $"{NameOf(first)} and {Listed(Rated(open))} are about equally fast: {did}{served}."
                : $"Cannot say which is the fastest: {NameOf(first)} did {did}; {Listed(Rated(open))} did less, but the windows differ more than that{served}.")
            + (slower.Length == 0 ? "" : $" Slower: {Listed(Rated(slower))}.");
    }

    // The second sentence: the units, and what speaks against it.
    private static string Basis(ResultFile result, string units)
    {
        string partial = result.Partial ? " It was stopped early, so this is what there was." : "";
        Finding[] doubts = [.. result.Findings.Where(static f => f.Level == FindingLevel.Doubt)
            .OrderByDescending(static f => f.IsOfAnUnquietMachine).ThenBy(static f => f.Kind == FindingKind.Scaling)];
        if (doubts.Length == 0)
        {
            string bound = result.Findings.FirstOrDefault(static f => f.Kind == FindingKind.Bound)?.Text is { } limit ? $" {limit}" : "";
            return $"Believe it: {units}, and no check failed.{partial}{bound}";
        }

        string why = doubts[0].Kind == FindingKind.Scaling ? "no law of scaling fits" : Inside(result, FirstSentence(doubts[0].Text));
        string others = doubts.Length == 1 ? "" : $" ({Numbers.Counted(doubts.Length - 1, "more doubt")} below)";
        return $"Less sure than it looks: {units}, but {why}{others}.{partial}";
    }

    private static string FirstSentence(string text)
    {
        int end = text.IndexOf(". ", StringComparison.Ordinal);
        return (end < 0 ? text : text[..end]).TrimEnd('.');
    }

    private static string UnitsOf(ResultFile result)
    {
        ComparisonRecord[] all = [.. result.Comparisons];
        return all.Any(static c => c.Pairs is not null) ? $"{Span([.. all.Select(static c => c.Pairs).OfType<int>()], "pair")} of processes took turns"
            : all.Any(static c => c.Processes is not null) ? $"{Span([.. all.Select(static c => c.Processes).OfType<int>()], "process")} a side, one after the other"
            : RoundsOf([.. result.Arms.Where(static a => a.IsMeasured)]);
    }

    private static string RoundsOf(ArmRecord[] measured)
    {
        int[] rounds = [.. measured.Select(static a => a.OrPart().Counted.Count)];
        bool arePrograms = measured.All(static a => a.IsProgram);
        string word = arePrograms ? "run" : measured.Any(static a => a.HasPasses) ? "window" : "round";
        string each = measured.Length > 1 ? " of each took turns" : "";
        return rounds.Max() == 1 && measured.Length == 1 ? $"a single {word}, which has no interval" : Span(rounds, word) + each;
    }

    private static string Span(int[] counts, string thing)
    {
        (int least, int most) = (counts.Min(), counts.Max());
        string things = thing.EndsWith('s') ? thing + "es" : thing + "s";
        return least == most ? $"{Numbers.Grouped(most)} {(most == 1 ? thing : things)}" : $"{Numbers.Grouped(least)} to {Numbers.Grouped(most)} {things}";
    }

    // The interval of the median, or of too few rounds for one, their ends.
    private static string Interval(ArmRecord arm)
    {
        ArmRecord own = arm.OrPart();
        if (own.Counted.Count < 2)
        {
            return "";
        }

        MedianInterval rate = own.RateInterval();
        string of = rate.IsUsual ? "" : $" in {Numbers.Counted(own.Counted.Count, arm.IsProgram ? "run" : "round")}";
        return arm.IsProgram
            ? $" ({Numbers.Nanoseconds(1e9 / rate.High)} to {Numbers.Nanoseconds(1e9 / rate.Low)}{of})"
            : $" ({Range(rate.Low, rate.High)}{of})";
    }

    private static string Listed(string[] texts)
    {
        string[] shown = texts.Length <= MostNamed ? texts : [.. texts.Take(MostNamed - 1), $"{texts.Length - MostNamed + 1} more"];
        return shown.Length == 1 ? shown[0] : $"{string.Join(", ", shown[..^1])} and {shown[^1]}";
    }

    private static string Amount(long count, string what) => count == 0 ? $"none {what}" : $"{Numbers.Grouped(count)} {what}";

    private static string With(ArmRecord arm) => $" with {Numbers.Counted(arm.Workers, "worker")}";

    private static string RateOf(ArmRecord arm) => Numbers.Rate(arm.OrPart().Rate().Median);

    private static string Time(ArmRecord arm) => Numbers.Nanoseconds(1e9 / arm.OrPart().Rate().Median);
}
