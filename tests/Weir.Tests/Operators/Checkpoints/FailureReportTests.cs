using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>Does a report of failures hold what failed, and give it back to another run?</summary>
public sealed class FailureReportTests : IDisposable
{
    private static readonly string[] Items = ["plain", "a,b", "say \"no\"", "two\r\nlines", "", "\"", "ä ✓", "=1+2", " a ", "\r", "\n", "\0", "\uFEFF", "item,attempts,kind,message", "good"];

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
        Assert.Equal(Items.Length - 1, outcomes.WriteReport(path));
        Assert.Equal(Items[..^1], FailureReport.ReadItems(path));
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

    [Theory]
    [InlineData("failed.csv", "item,attempts,kind,message\r\na,1,k,\"m\r\nn\"\r\n\r\n\n\"b,\"\"\",,k,m")]
    [InlineData("failed.jsonl", "{\"item\":\"a\"}\r\n\r\n \n{\"item\":\"b,\\\"\"}")]
    public void EmptyLines_AreLeftOut(string name, string text)
    {
        string path = Path.Combine(_folder, name);
        File.WriteAllText(path, text);
        Assert.Equal(["a", "b,\""], FailureReport.ReadItems(path));
    }

    [Theory]
    [InlineData("item,attempts,kind,message\na\nb,1,k,m\n", "The line of the report that begins with the item a is not whole.")]
    [InlineData("item,attempts,kind,message\n\"a\nb,1,k,m\n", "The report is not whole: its last text has no closing quote.")]
    [InlineData("item,attempts,kind,message\na,1,k,\"m\n", "The report is not whole: its last text has no closing quote.")]
    [InlineData("item,attempts,kind,message\na", "The line of the report that begins with the item a is not whole.")]
    public void AReportThatIsCut_IsRefused(string text, string sentence)
    {
        string path = Path.Combine(_folder, "failed.csv");
        File.WriteAllText(path, text);
        Assert.Equal(sentence, Assert.Throws<FormatException>(() => FailureReport.ReadItems(path)).Message);
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
