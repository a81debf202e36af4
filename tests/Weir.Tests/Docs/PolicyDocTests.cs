using System.Text.RegularExpressions;

namespace Weir.Tests.Docs;

public partial class PolicyDocTests
{
    private static readonly Uri[] Urls = [new("http://localhost/a"), new("http://localhost/b")];

    [Theory]
    [InlineData("operators/policies.md")]
    [InlineData("polly.md")]
    public void Doc_ItsExample_IsTheCompiledOne(string page)
    {
        string root = Repository.Root;
        string code = Squeeze(File.ReadAllText(Path.Combine(root, "tests", "Weir.Tests", "Docs", "PolicyExamples.cs")));
        string example = Assert.Single(Examples().Matches(File.ReadAllText(Path.Combine(root, "docs", page)).ReplaceLineEndings("\n"))).Groups[1].Value;
        Assert.Contains(Squeeze(example), code, StringComparison.Ordinal);
    }

    [Fact(Timeout = 90_000)]
    public async Task Examples_Run_GiveTheResultsOfTheCalls()
    {
        Assert.Equal(["/a", "/b"], (await PolicyExamples.PoliciesAsync(Urls)).Select(static page => page.Value.Text));
        Assert.Equal(["/a", "/b"], (await PolicyExamples.PollyAsync(Urls)).Select(static page => page.Text));
    }

    [Fact]
    public void OptionsPage_EachPropertyOfTheOptions_HasARow()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "operators", "options.md"));
        Assert.All(
            typeof(ParallelRunOptions).GetProperties().Where(static p => p.GetMethod!.IsPublic).Select(static p => p.Name),
            name => Assert.Contains($"`{name}`", page, StringComparison.Ordinal));
    }

    private static string Squeeze(string text) => Spaces().Replace(text, " ").Trim();

    [GeneratedRegex("```csharp\n(.*?)```", RegexOptions.Singleline)]
    private static partial Regex Examples();

    [GeneratedRegex(@"\s+")]
    private static partial Regex Spaces();
}
