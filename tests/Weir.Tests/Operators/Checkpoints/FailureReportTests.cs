using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>Does a report of failures hold what failed, and give it back to another run?</summary>
public sealed class FailureReportTests : IDisposable
{
    private static readonly string[] Items = ["plain", "a,b", "say \"no\"", "two\r\nlines", "", "\"", "ä ✓", "good"];

    private readonly string _folder = Directory.CreateTempSubdirectory("weir-report-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory(Timeout = 60_000)]
    [InlineData("failed.csv")]
    [InlineData("failed.jsonl")]
    public async Task Report_IsTheSourceOfTheNextRun(string name)
    {
        string path = Path.Combine(_folder, name);
        ItemOutcome<string>[] outcomes = await Items.ForEachParallelOutcomesAsync(
            static (item, _) => item == "good" ? default(ValueTask) : throw new TestException(),
            new ParallelRunOptions { Output = new() { IncludeDetails = true }, Retry = new() { IsTransient = static _ => true, MaxRetries = 1, BaseDelay = TimeSpan.Zero } });
        Assert.Equal(7, outcomes.WriteReport(path));
        Assert.Equal(Items[..7], FailureReport.ReadItems(path));
        Assert.Equal([Path.GetFileName(path)], Directory.GetFiles(_folder).Select(Path.GetFileName));
        string first = File.ReadLines(path).Skip(name.EndsWith("csv", StringComparison.Ordinal) ? 1 : 0).First();
        string message = new TestException().Message;
        Assert.Equal(
            name.EndsWith("csv", StringComparison.Ordinal)
                ? $"plain,2,{typeof(TestException).FullName},{message}"
                : $$"""{"item":"plain","attempts":2,"kind":"{{typeof(TestException).FullName}}","message":"{{message}}"}""",
            first);
    }

    [Fact(Timeout = 60_000)]
    public async Task Report_HasTheKeyInPlaceOfTheItem_AndNoAttemptsWithoutDetails()
    {
        string path = Path.Combine(_folder, "failed.csv");
        ItemOutcome<int, int>[] outcomes =
            await new[] { 1, 2, 3 }.SelectParallelOutcomesAsync(static (i, _) => i == 2 ? throw new TestException() : new ValueTask<int>(i));
        Assert.Equal(1, outcomes.WriteReport(path, static i => i * 1.5));
        Assert.Equal(["3"], FailureReport.ReadItems(path));
        Assert.StartsWith("3,,", File.ReadLines(path).Last(), StringComparison.Ordinal);
    }

    [Fact]
    public void WhatIsNoReport_IsRefused()
    {
        ItemOutcome<int>[] none = [];
        Assert.Contains("must end in .csv or .jsonl", Assert.Throws<ArgumentException>(() => none.WriteReport("failed.txt")).Message, StringComparison.Ordinal);
        string path = Path.Combine(_folder, "other.csv");
        File.WriteAllText(path, "a,b\n");
        Assert.Throws<FormatException>(() => FailureReport.ReadItems(path));
        Assert.Equal(0, none.WriteReport(path));
        Assert.Empty(FailureReport.ReadItems(path));
    }
}
