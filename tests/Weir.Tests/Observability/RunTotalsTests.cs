using Weir.Core.Metering;
using Weir.Observability;

namespace Weir.Tests.Observability;

/// <summary>The counts of all runs, without a meter.</summary>
public class RunTotalsTests
{
    private readonly RunTotals _totals = new(mostLabels: 3);

    [Fact]
    public void Sum_RunningAndEnded_IsNeverLessThanBefore()
    {
        Run first = new("a", 5);
        Run second = new("a", 7);
        _totals.Begin(first);
        _totals.Begin(second);
        Assert.Equal(12, Sum(first.Label));

        Assert.Equal(first.Label, _totals.End(first, first.Sample()));
        Assert.Equal(12, Sum(first.Label));
        Assert.Equal(7, Sum(first.Label, onlyRunning: true));

        _totals.End(second, second.Sample());
        Assert.Equal(12, Sum(first.Label));
        Assert.Equal(0, Sum(first.Label, onlyRunning: true));

        // Twice is once.
        Assert.Null(_totals.End(second, second.Sample()));
        Assert.Equal(12, Sum(first.Label));
    }

    [Fact]
    public void Sum_MoreLabelsThanAreKept_CountsTheRestTogether()
    {
        for (int i = 0; i < 10; i++)
        {
            Run run = new($"name {i}", 1);
            _totals.Begin(run);
            _totals.End(run, run.Sample());
        }

        Run known = new("name 2", 1);
        _totals.Begin(known);
        Dictionary<RunLabel, long> sums = _totals.Sum(static s => s.Succeeded, onlyRunning: false);
        Assert.Equal(4, sums.Count);
        Assert.Equal(2, sums[known.Label]);
        Assert.Equal(7, sums[RunLabel.Overflow]);
    }

    [Fact]
    public void Labels_AreEqualIfTheyShowTheSame()
    {
        Assert.Equal(Label("n", new("a", 1), new("b", null)), Label("n", new("a", 1), new("b", null)));
        Assert.NotEqual(Label("n", new KeyValuePair<string, object?>("a", 1)), Label("n", new KeyValuePair<string, object?>("a", "1")));
        Assert.NotEqual(Label("n", new("a", "b1:c"), new("c", "")), Label("n", new("a", "b"), new("1:c", "")));
        Assert.NotEqual(Label("n"), Label(null));
        Assert.Equal("text", Label("n", new KeyValuePair<string, object?>("a", new Shown())).Tags[^1].Value);
        Assert.Null(Label("n", new KeyValuePair<string, object?>("a", new Throwing())).Tags[^1].Value);
    }

    [Fact]
    public async Task Options_NameOrKeyWithoutText_IsOneClearSentence()
    {
        ParallelRunOptions noName = new() { OperationName = "" };
        ParallelRunOptions noKey = new() { Metrics = new() { Tags = [new("a", 1), new("", 2)] } };

        ArgumentException e = await Assert.ThrowsAsync<ArgumentException>(
            "OperationName", () => new[] { 1 }.ForEachParallelAsync(static (_, _) => default, noName));
        Assert.StartsWith("OperationName must be null or a text that is not empty.", e.Message, StringComparison.Ordinal);
        e = await Assert.ThrowsAsync<ArgumentException>("Tags", () => new[] { 1 }.ForEachParallelAsync(static (_, _) => default, noKey));
        Assert.StartsWith("Tags must have no empty key, but the one at position 1 is empty.", e.Message, StringComparison.Ordinal);
    }

    private static RunLabel Label(string? name, params KeyValuePair<string, object?>[] tags) =>
        RunLabel.Of("ForEachParallelAsync", new ParallelRunOptions { OperationName = name, Metrics = new() { Tags = tags } });

    private long Sum(RunLabel label, bool onlyRunning = false) => _totals.Sum(static s => s.Succeeded, onlyRunning)[label];

    private sealed class Run(string name, long succeeded) : IMeasuredRun
    {
        public RunLabel Label { get; } = RunTotalsTests.Label(name);

        public RunSample Sample() => new() { Succeeded = succeeded };
    }

    private sealed class Shown
    {
        public override string ToString() => "text";
    }

    private sealed class Throwing
    {
        public override string ToString() => throw new FormatException();
    }
}
