using Weir.Site;
using Weir.Site.Pictures;

namespace Weir.Docs.Tests;

/// <summary>What is made from the results, the project files and the list of pages is as they are today.</summary>
public sealed class PictureTests
{
    [Fact]
    public void Index_ListsEveryPageOfDocs()
    {
        string index = DocPages.Read("docs/README.md");
        string docs = Path.Combine(Repository.Root, "docs");
        IEnumerable<string> pages = Directory.EnumerateFiles(docs, "*.md", SearchOption.AllDirectories)
            .Select(f => Path.GetRelativePath(docs, f).Replace('\\', '/'))
            .Where(static f => f != "README.md");
        Assert.DoesNotContain(pages, page => !index.Contains($"]({page})", StringComparison.Ordinal));
    }

    [Fact]
    public void Picture_IsDrawnFromTheResultsOfToday() =>
        Assert.Equal(PeersPicture.Draw(Repository.Root), DocPages.Read(PeersPicture.Path));

    [Fact]
    public void Picture_OfTheProjects_IsThatOfTheProjectFiles() =>
        Assert.Equal(ProjectsPicture.Draw(Repository.Root), DocPages.Read(ProjectsPicture.Path));

    [Fact]
    public void Picture_OfTheRun_IsThatOfItsRecording() =>
        Assert.Equal(RunPicture.Draw(Repository.Root), DocPages.Read(RunPicture.Path));

    [Fact]
    public void Picture_OfTheBars_IsWhatTheyDraw()
    {
        string picture = BarPicture.Draw();
        Assert.Equal(picture, DocPages.Read(BarPicture.Path));
        Assert.Contains(">import    <tspan", picture, StringComparison.Ordinal);
        Assert.Contains(">import: 200,000 of 200,000 in 0:07", picture, StringComparison.Ordinal);
    }

    [Fact]
    public void Picture_OfOverload_IsDrawnFromTheResultsOfToday() =>
        Assert.Equal(OverloadPicture.Draw(Repository.Root), DocPages.Read(OverloadPicture.Path));

    [Fact]
    public void Picture_OfOverload_HasACurveForEachArmInBothTables()
    {
        string picture = OverloadPicture.Of("""
            | the server notices | load | nothing | Polly | fixed limit | Weir |
            |---|---|---:|---:|---:|---:|
            | yes | 0.5 | 0.50 | 0.50 | 0.50 | 0.50 |
            | yes | 10 | 0.00 | 0.25 | 0.50 | 1.00 |
            | no | 10 | 0.11 | 0.11 | 0.11 | 0.11 |

            | second of two minutes | capacity | nothing | Polly | fixed limit | Weir | Weir's limit |
            |---|---:|---:|---:|---:|---:|---:|
            | 0 | 200 | 0 | 50 | 100 | 200 | 8 |
            | 5 | 400 | 0 | 50 | 100 | 400 | 16 |

            """.ReplaceLineEndings("\n"));
        Assert.Equal(9, picture.Split("<polyline ").Length - 1);
        Assert.Contains("<polyline class=\"nothing\" points=\"56.0,208.0 410.0,352.0\"/>", picture, StringComparison.Ordinal);
        Assert.Contains("<polyline class=\"weir\" points=\"56.0,208.0 410.0,64.0\"/>", picture, StringComparison.Ordinal);
        Assert.Contains("<polyline class=\"weir\" points=\"494.4,208.0 511.2,64.0\"/>", picture, StringComparison.Ordinal);
        Assert.Throws<SiteException>(() => OverloadPicture.Of("no table"));
    }

    [Fact]
    public void Picture_OfJobs_IsDrawnFromTheResultsOfToday() =>
        Assert.Equal(JobsPicture.Draw(Repository.Root), DocPages.Read(JobsPicture.Path));

    [Fact]
    public void Picture_OfJobs_HasAPointForEachRowOfItemsOf1Ms()
    {
        string picture = JobsPicture.Of("""
            <!-- measured nothing -->
            | system | items a job | items | s | jobs/s | items/s |
            |---|---|---:|---:|---:|---:|
            | Hangfire | 1 | 10,000 | 1.0 | 10,000 | 10,000 |
            <!-- /measured -->
            <!-- measured wait -->
            Measured.

            | system | items a job | items | s | jobs/s | items/s |
            |---|---|---:|---:|---:|---:|
            | Hangfire | 1 | 10,000 | 100.0 | 100 | 100 |
            | Hangfire | all, auto | 50,000 | 3.0 | 0.33 | 16,667 |
            | Quartz | 500 | 50,000 | 5.0 | 20 | 10,000 |

            """.ReplaceLineEndings("\n"));
        Assert.Equal(3, picture.Split("<circle ").Length - 1);
        Assert.Contains("<circle class=\"single\" cx=\"225.0\" cy=\"71\" r=\"5\"/>", picture, StringComparison.Ordinal);
        Assert.Contains("<text class=\"name\" x=\"156.0\" y=\"94.0\">auto</text>", picture, StringComparison.Ordinal);
        Assert.Contains("<circle class=\"loop\" cx=\"799.0\" cy=\"71\" r=\"5\"/>", picture, StringComparison.Ordinal);
        Assert.Throws<SiteException>(() => JobsPicture.Of("no table"));
    }

    [Fact]
    public void Picture_OfARun_HasEachOfItsLines()
    {
        string picture = RunPicture.Of("$ weir run <x> \\\n    --quiet\n\nanswer\n! a doubt\nthat goes on\nAnd more\n");
        Assert.Contains(">$ weir run &lt;x&gt; \\</text>", picture, StringComparison.Ordinal);
        Assert.Equal(2, picture.Split("class=\"command\"").Length - 1);
        Assert.Contains(">answer</text>", picture, StringComparison.Ordinal);
        Assert.Equal(2, picture.Split("class=\"doubt\"").Length - 1);
        Assert.Equal(6, picture.Split("<text ").Length - 1);
    }

    [Fact]
    public void Table_OfPrograms_IsThatOfTheResultsOfToday() =>
        Assert.Equal(ProgramsTable.Draw(Repository.Root), DocPages.Read(ProgramsTable.Path));

    [Fact]
    public void Table_OfPrograms_HasTheFiguresOfTheResults() =>
        Assert.EndsWith(
            "| One, two | 0.52 | 0.40 to 1.25 | 0.63 | 3 | 1,235 |\n",
            ProgramsTable.Table("""
                <!-- measured DataflowProgramsBenchmarks -->
                | One, two | A_InBox | 2 ms | 1 ms..3 ms | 1 (baseline) |  | 1234.6 | 3 | 1.00 | 9 |
                | One, two | A_Weir | 1 ms | 1 ms..3 ms | 0.63 | 0.5..0.9 | 2.7 | 3 | 1.00 | 9 |

                - One, two: A_Weir takes at most 1x the processor time of A_InBox: 0.521x [0.400..1.250], met
                <!-- /measured -->
                """.ReplaceLineEndings("\n")),
            StringComparison.Ordinal);

    [Fact]
    public void Picture_ShowsWhatTheTableSays()
    {
        ResultRow[] rows = [.. ResultPage.Read("""
            <!-- measured SomeBenchmarks -->
            | case | arm | time a run | [min..max] | ratio |
            |---|---|---:|---:|---:|
            | N=1 | One | 1.50 us | 900 ns..2.00 ms | 1 (baseline) |
            |  | Two | 3.0 s | 2.9 s..3.1 s | 2.0 |
            <!-- /measured -->
            """)];
        Assert.Equal(["SomeBenchmarks, N=1, One", "SomeBenchmarks, , Two"], rows.Select(static r => $"{r.Suite}, {r.Case}, {r.Arm}"));
        Assert.Equal([1.5e-6, 900e-9, 2e-3, 3, 2.9, 3.1], rows.SelectMany(static r => new[] { r.Median, r.Least, r.Most }), Close);
    }

    private static bool Close(double one, double other) => Math.Abs(one - other) < 1e-9 * one;
}
