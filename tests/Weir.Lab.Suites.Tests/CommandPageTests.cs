using System.Globalization;
using Weir.Cli.Kit.Hosting;
using Weir.Lab.Trials;
using Weir.Tables.App;
using Weir.Tables.Commands;
using Weir.Tables.Page;

namespace Weir.Lab.Suites.Tests;

public class CommandPageTests
{
    private static readonly CommandSection[] Sections =
    [
        new("small", "A few items", "What it shows.", "load --count 1000 --batch-size 100 --runtime parallel --sweep 1,2"),
        new("other", "Others", "More.", "load --count 10 --runtime direct"),
    ];

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OneSection_WritesItsTableAndKeepsTheRest()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-tables-");
        string page = Path.Combine(folder.FullName, "load.md");

        await Run(Sections).RunAsync(1, ["small"], new FileInfo(page), TestContext.Current.CancellationToken);
        await Run(Sections).RunAsync(1, ["other"], new FileInfo(page), TestContext.Current.CancellationToken);

        string text = await File.ReadAllTextAsync(page, TestContext.Current.CancellationToken);
        Assert.Contains("## A few items\n\nWhat it shows.\n\n    weir load --count 1000", text, StringComparison.Ordinal);
        Assert.Contains("| arm | items/s | [min..max] |", text, StringComparison.Ordinal);
        Assert.Matches(@"\n\| parallel/1 \| [^\n]+\n\| parallel/2 \| ", text);
        Assert.Matches(@"\n- Start with parallel/[12]: ", text);
        Assert.Contains("\n| direct | ", text, StringComparison.Ordinal);
        Assert.DoesNotContain("Not measured yet", text, StringComparison.Ordinal);
        folder.Delete(recursive: true);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_RunThatFails_ThrowsAndWritesNothing()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-tables-");
        FileInfo page = new(Path.Combine(folder.FullName, "load.md"));
        CommandSection wrong = new("wrong", "Wrong", "", "load --count 0");

        InvalidOperationException failure = await Assert.ThrowsAsync<InvalidOperationException>(
            () => Run(wrong).RunAsync(1, [], page, TestContext.Current.CancellationToken));

        Assert.Contains("ended with exit code 1", failure.Message, StringComparison.Ordinal);
        Assert.False(page.Exists);
        folder.Delete(recursive: true);
    }

    [Theory]
    [InlineData(new[] { "processor : 0", "cpu MHz\t\t: 2596.132", "cpu MHz\t\t: 2400.0", "cpu MHz\t\t: 2600.0" }, "clock 2.60 GHz")]
    [InlineData(new[] { "processor : 0" }, "")]
    public void Clock_OfTheSystem_IsTheMiddleOne(string[] lines, string text) => Assert.Equal(text, ProcessorClock.TextOf(lines));

    private static CommandPageRun Run(params CommandSection[] sections) => new(Host(), CommandPage.Load with { Sections = sections });

    private static CliHost Host() => new()
    {
        Name = TablesApp.Name,
        Out = new StringWriter(CultureInfo.InvariantCulture),
        Error = new StringWriter(CultureInfo.InvariantCulture),
        Load = new LoadHost
        {
            Trials = new TrialOptions { MinimumWindow = TimeSpan.FromMilliseconds(1), LongestWarmUp = TimeSpan.Zero, CompilerPatience = TimeSpan.Zero },
        },
    };
}
