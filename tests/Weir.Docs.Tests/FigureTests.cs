using System.Text.RegularExpressions;
using Weir.Site.Figures;
using Weir.Site;

namespace Weir.Docs.Tests;

/// <summary>The figures of README and docs: each comes from the pages of results.</summary>
public sealed partial class FigureTests
{
    [Fact]
    public void Figures_OfEveryPage_AreThoseOfTheResults() =>
        Assert.All(FigurePages.Draw(Repository.Root), static page => Assert.Equal(page.Text, DocPages.Read(page.Path)));

    [Fact]
    public void Figures_OfTheList_AreEachUsed()
    {
        HashSet<string> used = [.. FigurePages.Draw(Repository.Root).SelectMany(static page => FigurePages.NamesIn(page.Text))];
        Assert.Empty(new FigureList(Repository.Root).Names.Except(used));
    }

    /// <summary>What is measured is written nowhere by hand in the tables that compare. What the work is, such as waits of 1 ms, is no figure.</summary>
    [Theory]
    [InlineData("README.md", "## Measured", "## What it does not do")]
    [InlineData("docs/choosing.md", "## By the work of an item", "**On .NET 10")]
    public void Tables_ThatCompare_HaveNoFigureByHand(string page, string from, string to)
    {
        string text = DocPages.Read(page);
        int start = text.IndexOf(from, StringComparison.Ordinal);
        string part = text[start..text.IndexOf(to, start, StringComparison.Ordinal)];
        string[] rows = [.. part.Split('\n').Where(static line => line.StartsWith('|'))];
        Assert.InRange(rows.Length, 8, int.MaxValue);
        Assert.All(rows, static row => Assert.DoesNotMatch(ByHand(), Code().Replace(FigurePages.Without(string.Join('|', row.Split('|').Skip(2))), "")));
    }

    /// <summary>Nor in the sentences that compare. Ratios have two digits behind the point there.</summary>
    [Theory]
    [InlineData("docs/reference/dataflow.md", "## What is gained", "Small programs lie")]
    [InlineData("docs/reference/adaptive-concurrency.md", "With real waits", "eng/tables ratios")]
    [InlineData("docs/reference/migrating-from-parallel-foreachasync.md", "| items that complete at once", "\n")]
    public void Sentences_ThatCompare_HaveNoFigureByHand(string page, string from, string to)
    {
        string text = DocPages.Read(page);
        int start = text.IndexOf(from, StringComparison.Ordinal);
        string part = text[start..text.IndexOf(to, start, StringComparison.Ordinal)];
        Assert.NotEmpty(FigurePages.NamesIn(part));
        Assert.DoesNotMatch(ByHandInSentence(), FigurePages.Without(part));
    }

    [Theory]
    [InlineData("17.4 ms", "time a run", 6_000_000, "2.9 ns")]
    [InlineData("1.87 s", "time a run", 6_000_000, "312 ns")]
    [InlineData("3.28 us", "time a run", 1, "3.3 us")]
    [InlineData("14.8 ms", "time a run", 1, "15 ms")]
    [InlineData("37.5 ms", "time a run", 1_000_000, "38 ns")]
    [InlineData("2,452", "B a run", 1, "2.5 KB")]
    [InlineData("111.0", "B an item", 1, "111 B")]
    [InlineData("0.0", "B an item", 1, "0 B")]
    [InlineData("9,195,851", "B a run", 1, "9,196 KB")]
    [InlineData("0.39", "ratio", 1, "0.39")]
    [InlineData("156 M", "direct /s", 1, "156 M")]
    public void Of_ACell_IsAsInASentence(string cell, string column, int parts, string value) =>
        Assert.Equal(value, FigureValue.Of(cell, column, parts));

    [Theory]
    [InlineData("17.4 ms", 6_000_000, "345 M/s")]
    [InlineData("668 ms", 1_000_000, "1.5 M/s")]
    [InlineData("1.26 s", 50_000, "40 k/s")]
    [InlineData("235 ms", 251, "1,068/s")]
    public void Rate_OfATime_IsHowOftenASecond(string cell, int count, string rate) => Assert.Equal(rate, FigureValue.Rate(cell, "time a run", count));

    [Fact]
    public void Cycles_OfAMessage_AreItsTimeOnAllProcessorsByTheClock() => Assert.Equal("7.3", FigureValue.Cycles("17.4 ms", "1.05", 2.4m, 6_000_000));

    public static TheoryData<string> Results() =>
        [.. Directory.EnumerateFiles(Path.Combine(Repository.Root, "docs", "results"), "*.md").Select(static file => Path.GetFileNameWithoutExtension(file)!)];

    /// <summary>A note stays when its table is measured again, perhaps on another machine. So it names the processor, and does not say that it is this one.</summary>
    [Theory]
    [MemberData(nameof(Results))]
    public void Notes_OfResults_DoNotCallAProcessorThisOne(string page) =>
        Assert.All(NotesOf(page), static note => Assert.DoesNotMatch(ThisMachine(), note));

    /// <summary>What is measured is in a table that a command makes, with its commit and processor. Before and after a change may stand in the notes.</summary>
    [Theory]
    [MemberData(nameof(Results))]
    public void Notes_OfResults_HaveNoTableOfACommand(string page) =>
        Assert.All(NotesOf(page), static note => Assert.False(CommandLine().IsMatch(note) && note.Contains("\n|", StringComparison.Ordinal), note));

    [Theory]
    [InlineData("core", "CoreYieldBenchmarks", "`CoreYieldBenchmarks`")]
    [InlineData("load", "plain", "`weir load --trials 3`")]
    [InlineData("queues", "The most that they carry", "`weir-audit load --engine memory,postgres,rabbitmq --trials 5`")]
    [InlineData("hash", "A fast device: CPU-bound", "`weir hash --input ./files --files 64 --size 16MiB --workers 2,16,64 --arms sync,async,foreach --rounds 6 --export md`")]
    [InlineData("auto", "", "`eng/tables auto-table`")]
    [InlineData("lab", "users", "`eng/tables selfcheck`")]
    [InlineData("benchmarkdotnet", "Hashes on several frameworks", "`CppCompilerAndLinker=gcc dotnet Hashes.dll`")]
    public void Program_OfASection_IsItsSuiteOrCommand(string page, string section, string program) =>
        Assert.Equal(program, new FigureReader(Repository.Root).Program(page, section));

    [Theory]
    [InlineData("One", "`0123456789`, Some Processor")]
    [InlineData("Two", "`abcdef0123`, Other Processor, not quiet")]
    [InlineData("Three", "`fedcba9876`, no processor there")]
    [InlineData("Four", "no commit there, Third Processor")]
    [InlineData("Five", "`0f1e2d3c4b`, Fourth Processor")]
    public void Origin_OfASection_IsWhatItSaysOrTheHeadOfThePage(string section, string origin)
    {
        string root = Directory.CreateTempSubdirectory("weir-figures-").FullName;
        try
        {
            Directory.CreateDirectory(Path.Combine(root, "docs", "results"));
            File.WriteAllText(
                Path.Combine(root, "docs", "results", "a.md"),
                """
                # A machine of 16 cores, Windows

                ## One

                Measured at commit 0123456789; 2 cores of Some Processor, Debian.

                ## Two

                Measured at commit abcdef012345;
                4 cores, Other Processor, Debian. **The machine was not quiet: repeat this.**

                ## Three

                Quiet, at commit fedcba9876.

                ## Four

                2 cores, Third Processor, Debian

                ## Five

                Measured at commit 0f1e2d3c4b, the command as it is installed; 2 cores of Fourth Processor, Debian.
                """);
            Assert.Equal(origin, new FigureReader(root).Origin("a", section));
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }

    [Theory]
    [InlineData("nothing; A; row; x", "has no such section")]
    [InlineData("nothing; Some; two; x", "has no row of 'two'")]
    [InlineData("nothing; Some; one; y", "has no column 'y'")]
    public void Read_WhatThePageLacks_SaysIt(string cell, string message)
    {
        string[] parts = cell.Split("; ");
        const string page = "# Page\n\n## Some\n\n| a | x |\n|---|---|\n| one | 5 |\n\n## Other\n\n| a | x |\n|---|---|\n| two | 6 |\n";
        SiteException error = Assert.Throws<SiteException>(() => new ResultCell(parts[0], parts[1], [parts[2]], parts[3]).Read(page));
        Assert.Contains(message, error.Message, StringComparison.Ordinal);
        Assert.Equal("6", new ResultCell("nothing", "Other", ["two"], "x").Read(page));
    }

    [GeneratedRegex(@"(?<![\w.,])\d[\d.,]* ?(?:ns|us|KB|MB|B)\b|(?<![\w.,])\d\.\d\d(?!\d)")]
    private static partial Regex ByHandInSentence();

    private static IEnumerable<string> NotesOf(string page) =>
        Notes().Matches(DocPages.Read($"docs/results/{page}.md")).Select(static note => note.Groups[1].Value);

    [GeneratedRegex(@"<!-- notes \w+ -->(.*?)<!-- /notes -->", RegexOptions.Singleline)]
    private static partial Regex Notes();

    [GeneratedRegex(@"\b(?:this (?:machine|one)|here) \([^)]*(?:Intel|AMD|Xeon|EPYC)", RegexOptions.IgnoreCase)]
    private static partial Regex ThisMachine();

    [GeneratedRegex(@"\b(?:eng/tables|eng/bench|weir(?:-work)? \w|dotnet run)")]
    private static partial Regex CommandLine();

    [GeneratedRegex("`[^`]*`")]
    private static partial Regex Code();

    [GeneratedRegex(@"(?<!of )(?<![\w.,])\d[\d.,]* ?(?:ns|us|ms|s|KB|MB|B|M|k)\b")]
    private static partial Regex ByHand();
}
