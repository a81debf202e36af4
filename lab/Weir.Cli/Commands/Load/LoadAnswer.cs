namespace Weir.Cli.Commands.Load;

/// <summary>What a run comes to, in a sentence or two for somebody who has never seen one.</summary>
internal static class LoadAnswer
{
    // Of the processor time. Less goes unnoticed, because the arms take turns.
    private const double MostTakenByOthers = 0.1;

    private const int MostNamed = 4;

    /// <summary>The answer.</summary>
    public static string Of(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.OrPart().IsMeasured).OrderByDescending(static a => a.OrPart().Rate().Median)];
        return arms switch
        {
            [] => "Nothing was measured: the run was stopped before.",
            [var one] => $"{NameOf(one)} handled {RateOf(one)} items a second: {TimeOf(one)} an item.",
            [var first, .. var others] => OfSeveral(first, others),
        } + (IsOf(result) ? " The machine was busy, so trust no small difference." : "") + (result.Partial ? " The run was stopped early." : "");
    }

    /// <summary>The finding if other programs had much of the machine while it was measured.</summary>
    public static IEnumerable<Finding> Busy(IEnumerable<ArmRecord> arms)
    {
        double[] room = [.. arms.SelectMany(static a => a.Rounds).Select(static r => r.Room).OfType<double>()];
        double others = room.Length == 0 ? 0 : 1 - room.Average();
        return others <= MostTakenByOthers ? [] :
        [
            new Finding(
                FindingLevel.Doubt,
                FormattableString.Invariant($"Other programs had {others * 100:0} % of the processor time meanwhile. Run it again on a quieter machine."),
                FindingKind.Machine),
        ];
    }

    /// <summary>The name of a runtime or a peer.</summary>
    public static string NameOf(ArmRecord arm) => arm.Settings.GetValueOrDefault(PassFigures.Runtime, arm.Name);

    private static bool IsOf(ResultFile result) => result.Findings.Any(static f => f is { Level: FindingLevel.Doubt, Kind: FindingKind.Machine });

    private static string OfSeveral(ArmRecord first, ArmRecord[] others)
    {
        // Which is first is seen only afterwards, so there are as many ways to be wrong as there are pairs.
        ComparisonOptions options = new();
        options = options with { Alpha = options.Alpha * 2 / (others.Length + 1) };
        IReadOnlyList<ComparisonRecord> compared = Comparing.All(others.Select(o => (o, first)), options, interleaved: true);
        ILookup<Verdict, ArmRecord> by = others.ToLookup(o => compared.FirstOrDefault(c => c.Arm == o.Label)?.Verdict ?? Verdict.Inconclusive);
        string did = $"{RateOf(first)} items a second, {TimeOf(first)} an item";
        ArmRecord[] slower = [.. by[Verdict.Slower]];
        ArmRecord[] open = [.. others.Except(slower)];
        if (open.Length == 0)
        {
            string rest = others.Length == 1 ? "" : $", then {Listed([.. others.Skip(1)])}";
            return $"{NameOf(first)} is the fastest: {did}. The next is {NameOf(others[0])} with {RateOf(others[0])}{rest}.";
        }

        bool areEqual = open.All(by[Verdict.Equivalent].Contains);
        string head = areEqual
            ? $"{NameOf(first)} and {Listed(open)} are about equally fast: {did}."
            : $"Which is the fastest is not certain: {NameOf(first)} did {did}; {Listed(open)} did less, but the windows differ more than that.";
        return head + (slower.Length == 0 ? "" : $" Slower: {Listed(slower)}.");
    }

    private static string Listed(ArmRecord[] arms)
    {
        string[] texts = [.. arms.Take(arms.Length > MostNamed ? MostNamed - 1 : MostNamed).Select(static a => $"{NameOf(a)} ({RateOf(a)})")];
        texts = arms.Length > texts.Length ? [.. texts, $"{arms.Length - texts.Length} more"] : texts;
        return texts.Length == 1 ? texts[0] : $"{string.Join(", ", texts[..^1])} and {texts[^1]}";
    }

    private static string RateOf(ArmRecord arm) => Numbers.Scaled(arm.OrPart().Rate().Median);

    private static string TimeOf(ArmRecord arm) => Numbers.Nanoseconds(1e9 / arm.OrPart().Rate().Median);
}
