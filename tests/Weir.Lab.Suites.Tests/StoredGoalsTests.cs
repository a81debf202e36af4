using Weir.TestKit;
using Weir.Tables.Verbs;

namespace Weir.Lab.Suites.Tests;

/// <summary>The words on goals: they are those of the figures beside them, on every page.</summary>
public class StoredGoalsTests
{
    public static TheoryData<string> Pages() =>
        [.. Directory.EnumerateFiles(Path.Combine(Repository.Root, "docs", "results"), "*.md").Select(static file => Path.GetFileName(file)!)];

    [Theory]
    [MemberData(nameof(Pages))]
    public void Verdicts_OfAPage_AreThoseOfItsFigures(string page)
    {
        string text = File.ReadAllText(Path.Combine(Repository.Root, "docs", "results", page)).ReplaceLineEndings("\n");
        Assert.Equal(StoredGoals.Judge(text), text);
    }

    [Theory]
    [InlineData("- A: Ours takes at most 0.5x the time of Theirs: 0.452x [0.296..0.723], met", "undecided: met by the median alone")]
    [InlineData("- Ours takes at most 0.5x the time of Theirs: 0.452x [0.296x..0.499x], undecided: met by the median alone", "met")]
    [InlineData("- Ours takes at most 0.5x the time of Theirs: 0.55x [0.4..0.6], missed by 10 %, which is not decided: the median lies", "undecided: missed by 10 % by the median alone")]
    [InlineData("- Ours takes at most 0.5x the time of Theirs: 0.55x [0.51..0.6], met", "**missed by 10 %**")]
    [InlineData("- Ours takes at most 0.5x the time of Theirs: 0.55x [0.45..0.6], **missed by 10 %**", "**missed by 10 %**")]
    [InlineData("- Ours takes at most 25 ns an item more than Theirs: 18.3 ns [-1.8..25.1], met", "undecided: met by the median alone")]
    [InlineData("- Ours takes at most 2.00 us a run: 1.50 us [500 ns..1.99 us], missed", "met")]
    [InlineData("- Ours takes at most 60 us a run: 1.20 ms [59.9 us..2.0 ms], missed", "undecided: missed by 1900 % by the median alone")]
    [InlineData("- Ours allocates at most 1 B an item: 0.3 B, met", "met")]
    public void Judge_ASentence_GoesByTheInterval(string sentence, string verdict) =>
        Assert.EndsWith($", {verdict}", StoredGoals.Judge(sentence), StringComparison.Ordinal);

    [Theory]
    [InlineData("- enqueue: at least 0.7 of the bare loop: 0.85 [0.65..0.90]", "undecided: met by the median alone")]
    [InlineData("- enqueue: at least 0.7 of the bare loop: 0.85 [0.70..0.90]", "met")]
    [InlineData("- Weir, first 10: at most 1.5 times ForEachAsync: 1.60 [1.55..1.70]", "**missed by 6.7 %**")]
    [InlineData("- rate limit, first call: at most 25 ns an item more than no policy: 20.0 ns [-3.0 ns..1,025 ns]", "undecided: met by the median alone")]
    public void Judge_AShareOrMultiple_GoesByTheInterval(string sentence, string verdict) =>
        Assert.Equal($"{sentence}, {verdict}", StoredGoals.Judge($"{sentence}, met at last"));

    [Theory]
    [InlineData("0.86 | 0.38..1.18", "0.9", "undecided: missed by 4.4 % by the median alone")]
    [InlineData("1.94 | 1.85..1.96", "0.9", "met")]
    [InlineData("0.70 | 0.65..0.89", "1.0", "**missed by 30 %**")]
    public void Judge_ARowOfTheAutoRuntime_GoesByTheRange(string figures, string limit, string verdict) => Assert.Equal(
        $"| noop | 500,000 | 156 M | direct | {figures} | 0.67 | 1.53 | {limit}: {verdict} |",
        StoredGoals.Judge($"| noop | 500,000 | 156 M | direct | {figures} | 0.67 | 1.53 | {limit}: met |"));

    [Theory]
    [InlineData("0 | 2 | 0", "0 | 2 | 0", "**Not met.**")]
    [InlineData("0 | 2 | 0", "1 | 1 | 0", "Met.")]
    [InlineData("0 | 2 | 0", "1 | 0 | 1", "**Not met.**")]
    [InlineData("1 | 1 | 0", "2 | 0 | 0", "**Not met.**")]
    public void Judge_TheCheckOfGates_GoesByItsRows(string same, string longer, string word) => Assert.Contains(
        $"smallest change that it would have found. {word}\n",
        StoredGoals.Judge($"<!-- measured gate -->\nGoal: old. Met.\n\n| `a` | {same} | - | - | 41 | 42 |\n| `b` | {longer} | - | - | 41 | 42 |\n<!-- /measured -->"),
        StringComparison.Ordinal);

    [Theory]
    [InlineData("105 | 0 | 0 | 1 | 104", "**Not met.**")]
    [InlineData("105 | 0 | 0 | 21 | 84", "Met.")]
    [InlineData("105 | 1 | 0 | 21 | 83", "**Not met.**")]
    public void Judge_TheCheckOfStoredResults_GoesByItsRows(string rates, string word) => Assert.Contains(
        $"the rates of at least 21 are EQUIVALENT. {word}\n",
        StoredGoals.Judge(
            "<!-- measured stored -->\nGoal: of all 105 pairs of 15 stored results. Met.\n\n"
                + $"| rate | {rates} |\n| bytes | 105 | 0 | 0 | 105 | 0 |\n<!-- /measured -->"),
        StringComparison.Ordinal);
}
