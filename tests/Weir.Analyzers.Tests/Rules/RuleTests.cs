using System.Globalization;
using Microsoft.CodeAnalysis;

namespace Weir.Analyzers.Tests.Rules;

/// <summary>What each rule says of code that it is there for, and of code that it must leave alone.</summary>
public class RuleTests
{
    public static TheoryData<string, string> Bad() => Of(static cases => cases.Bad);

    public static TheoryData<string, string> Good() => Of(static cases => cases.Good);

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Bad))]
    public async Task Rule_BadCode_IsWarnedOfWhereItIs(string rule, string code)
    {
        Snippet snippet = RuleCases.Snippet(rule, code);
        Assert.Equal(rule == UnfitCallCases.All.Rule, snippet.Errors().Any());
        Assert.NotEmpty(snippet.Marks);
        Diagnostic[] found = await snippet.LookAsync(rule, TestContext.Current.CancellationToken);
        Assert.Equal(snippet.Marks.Select(snippet.TextAt), found.Select(d => snippet.TextAt(d.Location.SourceSpan)));
        Assert.Equal(snippet.Marks, found.Select(static d => d.Location.SourceSpan));
        Assert.All(found, d => Assert.Equal(rule, d.Id));
    }

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Good))]
    public async Task Rule_GoodCode_IsLeftAlone(string rule, string code)
    {
        Snippet snippet = RuleCases.Snippet(rule, code);
        Assert.Empty(snippet.Errors());
        Assert.Empty(await snippet.LookAsync(rule, TestContext.Current.CancellationToken));
    }

    [Theory(Timeout = 120_000)]
    [InlineData("int Sum(params int[] all) => all.Sum(); await items.SelectParallelAsync(Sum);", "write 'x => Sum(x)'")]
    [InlineData("Task<int> Load(int x, CancellationToken token = default, int by = 2) => null!; await items.SelectParallelAsync(Load);",
        "write '(x, token) => Load(x, token)'")]
    [InlineData("Task<int> Load(int x, int by = 2, CancellationToken stopping = default) => null!; await items.SelectParallelAsync(Load);",
        "write '(x, token) => Load(x, stopping: token)'")]
    [InlineData("await items.SelectParallelAsync((x, i, t) => x);", "write 'x => …' or '(x, token) => …'")]
    public async Task UnfitCall_Message_IsWhatToWrite(string code, string instead)
    {
        Diagnostic found = Assert.Single(await Tests.Snippet.Body(code).LookAsync("WEIR007", TestContext.Current.CancellationToken));
        Assert.EndsWith(instead, found.GetMessage(CultureInfo.InvariantCulture), StringComparison.Ordinal);
    }

    [Fact]
    public void Rules_Cases_AreTenOfEach() => Assert.All(RuleCases.All, static cases =>
    {
        Assert.InRange(cases.Bad.Length, 10, 100);
        Assert.InRange(cases.Good.Length, 10, 100);
    });

    [Fact]
    public void Rules_OfTheAnalyzers_AreThoseOfThePageAndOfTheReleases()
    {
        string[] rules = [.. Tests.Snippet.All.SelectMany(static a => a.SupportedDiagnostics).Select(static d => d.Id).Order(StringComparer.Ordinal)];
        Assert.Equal(RuleCases.All.Select(static c => c.Rule), rules);
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "analyzers.md"));
        string releases = File.ReadAllText(Path.Combine(Repository.Root, "src", "Weir.Analyzers", "AnalyzerReleases.Unshipped.md"));
        Assert.All(rules, rule =>
        {
            Assert.Contains($"\n## {rule}\n", page, StringComparison.Ordinal);
            Assert.Contains($"\n{rule} | ", releases, StringComparison.Ordinal);
        });
        Assert.All(
            Tests.Snippet.All.SelectMany(static a => a.SupportedDiagnostics),
            static d => Assert.EndsWith("docs/reference/analyzers.md#" + d.Id, d.HelpLinkUri, StringComparison.OrdinalIgnoreCase));
    }

    public static TheoryData<int> Attempts() => [new TheoryDataRow<int>(1), new TheoryDataRow<int>(10) { Explicit = true }];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Attempts))]
    public async Task Analyzers_UnfinishedCode_NeverThrow(int attempts)
    {
        // Somebody types: what is there is never whole.
        Random chance = new(17);
        foreach (RuleCases cases in RuleCases.All)
        {
            foreach (string code in cases.Bad)
            {
                Snippet snippet = RuleCases.Snippet(cases.Rule, code);
                for (int i = 0; i < attempts; i++)
                {
                    Snippet part = snippet.Without(chance.Next(snippet.Length), chance.Next(1, 40));
                    Diagnostic[] found = await part.LookAsync(null, TestContext.Current.CancellationToken);
                    Assert.DoesNotContain(found, static d => d.Id == "AD0001");
                }
            }
        }
    }

    private static TheoryData<string, string> Of(Func<RuleCases, string[]> kind)
    {
        TheoryData<string, string> data = [];
        foreach (RuleCases cases in RuleCases.All)
        {
            foreach (string code in kind(cases))
            {
                data.Add(cases.Rule, code);
            }
        }

        return data;
    }
}
