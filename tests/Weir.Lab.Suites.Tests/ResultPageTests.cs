using Weir.Tables.Page;
using Weir.TestKit;

namespace Weir.Lab.Suites.Tests;

public class ResultPageTests
{
    [Fact]
    public void Render_NewPage_HasASectionForEachSuiteThatSaysHowToMeasureIt()
    {
        string page = new ResultPage("").Render();
        Assert.Contains("## Sync items, limit 8", page, StringComparison.Ordinal);
        Assert.Contains(
            "Not measured yet: `eng/tables ratios --filter '*CoreYieldBenchmarks*'", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Render_SectionReplaced_KeepsNotesAndOtherSections()
    {
        string before = new ResultPage("").Render()
            .Replace("<!-- notes CoreYieldBenchmarks -->\n", "<!-- notes CoreYieldBenchmarks -->\nBy hand.\n\nStill by hand.\n", StringComparison.Ordinal)
            .Replace("<!-- notes Page -->\n", "<!-- notes Page -->\nOn top.\n", StringComparison.Ordinal);
        ResultPage first = new(before);
        first.Replace(typeof(CoreYieldBenchmarks), "Yields.");
        ResultPage second = new(first.Render());
        second.Replace(typeof(CoreDelayBenchmarks), "Delays.");
        string after = second.Render();
        Assert.Contains("<!-- measured CoreYieldBenchmarks -->\nYields.\n<!-- /measured -->\n<!-- notes",
            after.Replace("\n\n<!-- notes", "\n<!-- notes", StringComparison.Ordinal), StringComparison.Ordinal);
        Assert.Contains("<!-- notes CoreYieldBenchmarks -->\nBy hand.\n\nStill by hand.\n<!-- /notes -->", after, StringComparison.Ordinal);
        Assert.Contains("<!-- notes Page -->\nOn top.\n<!-- /notes -->", after, StringComparison.Ordinal);
        Assert.Contains("Delays.", after, StringComparison.Ordinal);
        Assert.Equal(after, new ResultPage(after).Render());
    }

    [Theory]
    [InlineData(SuiteSet.Core, "core.md")]
    [InlineData(SuiteSet.Dataflow, "dataflow.md")]
    [InlineData(SuiteSet.Resilience, "resilience.md")]
    public void Render_PageOfTheRepository_IsWhatTheGeneratorMakesOfIt(SuiteSet set, string file)
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "results", file)).ReplaceLineEndings("\n");
        Assert.Equal(new ResultPage(page, set).Render(), page);
    }
}
