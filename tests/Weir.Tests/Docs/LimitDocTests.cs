using System.Text.RegularExpressions;
using Weir.Resilience;

namespace Weir.Tests.Docs;

public partial class LimitDocTests
{
    [Fact]
    public void Doc_EachExample_IsTheCompiledOne()
    {
        string code = Squeeze(File.ReadAllText(Path.Combine(Repository.Root, "tests", "Weir.Tests", "Docs", "LimitExamples.cs")));
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "limits.md")).ReplaceLineEndings("\n");
        string[] examples = [.. Examples().Matches(page).Select(static m => Squeeze(m.Groups[1].Value))];
        Assert.NotEmpty(examples);
        Assert.All(examples, example => Assert.Contains(example, code, StringComparison.Ordinal));
    }

    [Fact(Timeout = 90_000)]
    public async Task Examples_Run_GiveTheResultsOfTheCalls()
    {
        (List<LimitExamples.Order> orders, LimitExamples.Order first) = await LimitExamples.SharedAsync([1, 2, 3], [4, 5], default);
        Assert.Equal([1, 2, 3], orders.Select(static order => order.Id));
        Assert.Equal(1, first.Id);
        Assert.Equal([4, 5], (await LimitExamples.RuntimeAsync([4, 5])).Select(static outcome => outcome.Value.Id));
        SharedConcurrencyLimit limit = new(1);
        Assert.Equal(7, (await LimitExamples.AloneAsync(limit, 7, default)).Id);
        Assert.Equal(0, limit.InUse);
    }

    private static string Squeeze(string text) => Spaces().Replace(text, " ").Trim();

    [GeneratedRegex("```csharp\n(.*?)```", RegexOptions.Singleline)]
    private static partial Regex Examples();

    [GeneratedRegex(@"\s+")]
    private static partial Regex Spaces();
}
