namespace Weir.Tests.PublicApi.Pages;

/// <summary>
/// The pages of docs/api are written from the XML documentation. WEIR_ACCEPT_API=1, or eng/api, writes them anew.
/// </summary>
public class ApiPagesTests
{
    private static readonly string Folder = Path.Combine(Repository.Root, "docs", "api");

    [Fact]
    public void Pages_OfThePublicTypes_AreWritten()
    {
        Dictionary<string, string> pages = ApiPages.All();
        if (Environment.GetEnvironmentVariable("WEIR_ACCEPT_API") == "1")
        {
            Directory.CreateDirectory(Folder);
            foreach (string old in Directory.EnumerateFiles(Folder).Where(f => !pages.ContainsKey(Path.GetFileName(f))))
            {
                File.Delete(old);
            }

            foreach ((string file, string text) in pages)
            {
                File.WriteAllText(Path.Combine(Folder, file), text);
            }
        }

        // One for each type, with the index beside them.
        Assert.Equal(ApiPages.Assemblies().SelectMany(ApiPages.Types).Count() + 1, pages.Count);
        Assert.All(pages.Values, static text => Assert.StartsWith("# ", text, StringComparison.Ordinal));
    }

    [Fact]
    public void Page_OfAType_HasWhatIsWrittenOfIt()
    {
        string page = ApiPages.All()["SharedConcurrencyLimit.md"];
        Assert.Contains("Namespace `Weir.Resilience`, package `Weir.Resilience`.", page, StringComparison.Ordinal);
        Assert.Contains("```cs\npublic SharedConcurrencyLimit(int limit, int? maxWaiting = null)\n```", page, StringComparison.Ordinal);
        Assert.Contains("- `limit`: How many calls may be in flight at once.", page, StringComparison.Ordinal);
        Assert.Contains("[`ConcurrencyLimitRejectedException`](ConcurrencyLimitRejectedException.md)", page, StringComparison.Ordinal);
        Assert.Contains("- Throws `ArgumentOutOfRangeException`: ", page, StringComparison.Ordinal);
    }
}
