using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Suites;

/// <summary>The verbs that measure Weir itself are commands like the others: one door, one way to refuse and to stop.</summary>
public class SuiteVerbsTests
{
    [Fact(Timeout = 60_000)]
    public async Task Help_ListsThem()
    {
        LoadResult result = await new CliUnderTest().RunAsync("--help");
        Assert.All(["ratios", "young", "auto-table", "selfcheck"], verb => Assert.Contains($"\n  {verb} ", result.Out, StringComparison.Ordinal));
    }

    [Theory(Timeout = 60_000)]
    [InlineData("ratios --rounds -1", "weir: --rounds must be a whole number from 0 to 1,000; it is -1. See 'weir ratios --help'.")]
    [InlineData("young --rounds 0", "weir: --rounds must be a whole number from 1 to 100; it is 0. See 'weir young --help'.")]
    [InlineData("auto-table --rounds 1001", "weir: --rounds must be a whole number from 1 to 1,000; it is 1001. See 'weir auto-table --help'.")]
    [InlineData("selfcheck --slow", "weir: Unrecognized command or argument '--slow'. See 'weir selfcheck --help'.")]
    [InlineData("ratios --filter *Nothing*", "No suite matches *Nothing*;")]
    [InlineData("selfcheck --output /no/such/folder/page.md", "--output must be a file in a folder that exists; /no/such/folder/page.md is none.")]
    public async Task Arguments_Wrong_GetOneSentenceAndOne(string arguments, string sentence)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith(sentence, result.Error, StringComparison.Ordinal);
        Assert.Equal(1, result.Error.Count(static c => c == '\n'));
        Assert.Empty(result.Out);
    }

    [Fact(Timeout = 120_000)]
    public async Task Ratios_Stopped_LeavesThePageAsItWasAndEndsWith130()
    {
        using TemporaryDirectory directory = new();
        string page = Path.Combine(directory.Path, "core.md");
        LoadResult frame = await new CliUnderTest().RunAsync($"ratios --rounds 0 --suites core --output {page}");
        Assert.Equal(0, frame.ExitCode);
        string before = await File.ReadAllTextAsync(page, TestContext.Current.CancellationToken);

        using CancellationTokenSource stop = new();
        await stop.CancelAsync();
        LoadResult stopped = await new CliUnderTest { Stop = stop.Token }.RunAsync($"ratios --filter *CoreSyncItems* --output {page}");
        Assert.Equal(130, stopped.ExitCode);
        Assert.Equal(before, await File.ReadAllTextAsync(page, TestContext.Current.CancellationToken));
    }
}
