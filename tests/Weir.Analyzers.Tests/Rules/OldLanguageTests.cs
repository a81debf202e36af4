using System.Globalization;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Weir.Analyzers.Tests.Rules;

/// <summary>C# 12 ignores the priorities of overloads. WEIR007 names the line that helps, where that line does help.</summary>
public class OldLanguageTests
{
    private const string Line = "add <LangVersion>13</LangVersion> to the project file";

    [Theory(Timeout = 120_000)]
    [InlineData("await items.SelectParallelAsync([|Work.Compute|]);")]
    [InlineData("await items.SelectParallelAsync([|x => Work.LoadAsync(x)|]);")]
    [InlineData("await items.SelectParallelAsync([|async x => await Work.LoadAsync(x)|]);")]
    [InlineData("await items.ForEachParallelAsync([|x => { throw new InvalidOperationException(); }|]);")]
    [InlineData("await runtime.ProcessManyAsync(items, [|Work.SaveAsync|]);")]
    public async Task UnfitCall_ThatNeedsPriorities_IsToldTheLineInOldLanguagesOnly(string code)
    {
        Snippet old = Snippet.Body(code).In(LanguageVersion.CSharp12);
        Assert.NotEmpty(old.Errors());
        Diagnostic found = Assert.Single(await old.LookAsync("WEIR007", TestContext.Current.CancellationToken));
        Assert.Equal(old.Marks, [found.Location.SourceSpan]);
        Assert.EndsWith(Line, found.GetMessage(CultureInfo.InvariantCulture), StringComparison.Ordinal);

        Snippet now = old.In(LanguageVersion.CSharp13);
        Assert.Empty(now.Errors());
        Assert.Empty(await now.LookAsync("WEIR007", TestContext.Current.CancellationToken));
    }

    [Theory(Timeout = 120_000)]
    [InlineData("int Half(int x, int by = 2) => x / by; await items.SelectParallelAsync([|Half|]);", "write 'x => Half(x)'")]
    [InlineData("await items.SelectParallelAsync([|(x, i, t) => x|]);", "write 'x => …' or '(x, token) => …'")]
    public async Task UnfitCall_ThatNoLanguageFits_IsToldTheLambdaInAllLanguages(string code, string instead)
    {
        foreach (LanguageVersion version in new[] { LanguageVersion.CSharp12, LanguageVersion.CSharp13 })
        {
            Snippet snippet = Snippet.Body(code).In(version);
            Assert.NotEmpty(snippet.Errors());
            Diagnostic found = Assert.Single(await snippet.LookAsync("WEIR007", TestContext.Current.CancellationToken));
            Assert.Equal(snippet.Marks, [found.Location.SourceSpan]);
            Assert.EndsWith(instead, found.GetMessage(CultureInfo.InvariantCulture), StringComparison.Ordinal);
        }
    }

    [Theory(Timeout = 120_000)]
    [InlineData("await items.SelectParallelAsync(Work.LoadAsync);")]
    [InlineData("await items.SelectParallelAsync((x, token) => Work.LoadAsync(x, token));")]
    [InlineData("await items.SelectParallelAsync(async (x, token) => await Work.LoadAsync(x, token));")]
    public async Task UnfitCall_ThatOldLanguagesCompile_IsLeftAlone(string code)
    {
        Snippet old = Snippet.Body(code).In(LanguageVersion.CSharp12);
        Assert.Empty(old.Errors());
        Assert.Empty(await old.LookAsync("WEIR007", TestContext.Current.CancellationToken));
    }
}
