using System.Text.RegularExpressions;
using Weir.Lab.Queues.Jobs;
using Weir.Tables.Jobs;
using Weir.Tables.Page;
using Weir.TestKit;

namespace Weir.Lab.Suites.Tests;

/// <summary>What the page of job systems makes of its readings. The servers are measured by its command.</summary>
public class JobSystemsTests
{
    [Fact]
    public void Of_ArmsOfASection_HaveTheItemsOfTheDocumentWhereTheyCan()
    {
        IReadOnlyList<(JobArm Arm, int Items)> arms = JobArm.Of(JobReading.Wait, JobArm.Long);
        Assert.Equal(JobArm.Systems.Count * JobShape.Measured.Count, arms.Count);
        Assert.Equal(
            ["Hangfire", "Quartz"], arms.Where(static arm => arm.Items != JobArm.Items).Select(static arm => arm.Arm.Library));
        Assert.All(JobArm.Of(JobReading.Kill, 1000), static arm => Assert.Equal(1000, arm.Items));
        Assert.Equal(4, JobArm.Of(JobReading.Kill, JobArm.Long).Count(static arm => arm.Items == JobArm.Long));
    }

    [Fact]
    public void Table_OfRates_HasMediansAndWhatThousandItemsCost()
    {
        JobArm arm = new(JobArm.Postgres, "Hangfire", JobShape.Single);
        string table = JobsPage.Table(JobsPage.Nothing, [(arm, Rounds(10_000))]);
        Assert.Contains("| Hangfire | 1 | 10,000 | 40.0 | 250 | 250 |\n", table, StringComparison.Ordinal);
        Assert.Contains("| Hangfire | 1 | 20,000 | 10,000 | 100 | 50 | 4,000 |\n", table, StringComparison.Ordinal);
        Assert.Contains("Each item was done exactly once in all turns.", table, StringComparison.Ordinal);
    }

    [Fact]
    public void Table_ItemsDoneTwice_AreNamed()
    {
        JobArm arm = new(JobArm.Postgres, "Quartz", JobShape.Batch);
        JobReading twice = new(1000, 2) { Seconds = 1, Repeated = 3 };
        Assert.Contains("more than once: Quartz, 500: 3.", JobsPage.Table(JobsPage.Wait, [(arm, [twice])]), StringComparison.Ordinal);
    }

    [Fact]
    public void Table_OfKills_HasWhatIsRepeatedAndLeftOut()
    {
        JobArm arm = new("rabbitmq", "Wolverine", JobShape.All(JobShape.Concurrent, resumes: true));
        JobReading killed = new(50_000, 1) { Seconds = 3.25, AtKill = 25_010, Repeated = 7000, LeftOut = 1 };
        Assert.Contains(
            "| Wolverine | all, concurrent, resume | 50,000 | 25,010 | 7,000 | 1 | 3.3 |\n", JobsPage.Table(JobsPage.Kills, [(arm, [killed])]), StringComparison.Ordinal);
    }

    [Fact]
    public void Tables_OfTheLongestNames_FitEightyColumns()
    {
        JobArm arm = new("rabbitmq", "MassTransit", JobShape.All(JobShape.Concurrent, resumes: true));
        JobReading most = new(200_000, 1) { Seconds = 0.0123, AtKill = 100_000, Repeated = 17_000, Client = 3, Server = 1, Written = 99_000_000, Messages = 2, Acknowledged = 2 };
        foreach (PageSection section in JobsPage.Sections)
        {
            string table = JobsPage.Table(section.Key, [(arm, [most]), (arm with { Server = JobArm.Postgres }, [most with { Transactions = 400, Rows = 300 }])]);
            Assert.All(table.Split('\n').Where(static line => line.StartsWith('|')), static line => Assert.InRange(line.Length, 10, 80));
        }
    }

    [Fact]
    public void Render_PageWithRates_BeginsWithTheAnswer()
    {
        string page = JobsPage.Render(new SectionPage(""));
        Assert.Equal("", JobsPage.Answer(new SectionPage(page)));
        SectionPage measured = new("");
        JobReading one = new(50_000, 1) { Seconds = 4 };
        measured.Replace(JobsPage.Wait, JobsPage.Table(JobsPage.Wait,
        [
            (new JobArm(JobArm.Postgres, "Hangfire", JobShape.Single), Rounds(10_000)),
            (new JobArm(JobArm.Postgres, "Hangfire", JobShape.All(JobShape.Concurrent)), [one]),
        ]));
        Assert.Contains("\n\n**Items of 1 ms in one job on a runtime, 20 at a time, against a job for each: 12,500 against 250 a second in Hangfire.**\n\n", JobsPage.Render(measured), StringComparison.Ordinal);
    }

    [Fact]
    public void Render_PageOfTheRepository_IsWhatTheGeneratorMakesOfIt()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "results", "job-systems.md")).ReplaceLineEndings("\n");
        Assert.Equal(JobsPage.Render(new SectionPage(page)), page);
        Assert.All(
            Regex.Matches(page, "^\\|(?: [^|]+ \\|){5,}$", RegexOptions.Multiline), static row => Assert.InRange(row.Length, 0, 80));
    }

    // Three rounds, of which the second is the middle one.
    private static JobReading[] Rounds(int items) =>
    [
        .. new[] { 0.5, 1, 4 }.Select(share => new JobReading(items, items)
        {
            Seconds = items * 0.004 * share, Client = 1, Server = 0.5, Written = 4000L * items, Transactions = 20L * items, Rows = 10L * items,
        }),
    ];
}
