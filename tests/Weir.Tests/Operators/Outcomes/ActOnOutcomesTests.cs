using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>What can one do with outcomes: run again what failed, and throw what failed?</summary>
public class ActOnOutcomesTests
{
    [Fact(Timeout = Selectors.Timeout)]
    public async Task Failed_RunAgainUntilNoneIsLeft_RunsEachItemAsOftenAsItFails()
    {
        Dictionary<string, int> calls = new() { ["a"] = 0, ["bb"] = 0, ["ccc"] = 0 };
        IReadOnlyList<string> left = ["a", "bb", "ccc"];
        List<string> rounds = [];
        while (left.Count > 0)
        {
            rounds.Add(string.Join(',', left));
            ItemOutcome<string, int>[] outcomes = await left.SelectParallelOutcomesAsync(
                text => ++calls[text] < text.Length ? throw new TestException(text) : text.Length, new() { MaxDegreeOfParallelism = 1 }).WithinAsync();
            Assert.Equal(left, outcomes.Select(static o => o.Item));
            left = outcomes.Failed();
        }

        Assert.Equal(["a,bb,ccc", "bb,ccc", "ccc"], rounds);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ThrowIfFailed_WithFailures_ThrowsThemWithTheResultsOfTheOthers()
    {
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 6).SelectParallelOutcomesAsync(
            static x => x % 3 == 1 ? throw new TestException($"item {x}") : x * 2).WithinAsync();
        ItemsFailedException<int> e = Assert.Throws<ItemsFailedException<int>>(() => outcomes.ThrowIfFailed());
        Assert.Equal([(1, "item 1"), (4, "item 4")], e.Failures.Select(static f => (f.Index, f.Error.Message)));
        Assert.Equal([0, 4, 6, 10], e.Results);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ThrowIfFailed_WithoutFailures_ThrowsOnlyIfAnItemHasNoResult()
    {
        ItemOutcome<int, int>[] outcomes = await new[] { 1, 2 }.SelectParallelOutcomesAsync(static x => x).WithinAsync();
        outcomes.ThrowIfFailed();
        Assert.Empty(outcomes.Failed());
        Assert.Empty(outcomes.NotSucceeded());
        ItemOutcome<int, int>[] stopped = await new[] { 1, 2 }.SelectParallelOutcomesAsync(
            static x => x, new() { Output = new() { ReturnOutcomesOnCancellation = true } }, new CancellationToken(canceled: true)).WithinAsync();
        Assert.StartsWith("2 items", Assert.Throws<OperationCanceledException>(() => stopped.ThrowIfFailed()).Message, StringComparison.Ordinal);
        Assert.StartsWith("One item", Assert.Throws<OperationCanceledException>(() => stopped[1..].ThrowIfFailed()).Message, StringComparison.Ordinal);
        Assert.Equal([1, 2], stopped.NotSucceeded());
        Assert.Empty(stopped.Failed());
    }

    [Fact]
    public void Outcomes_Null_AreRefused()
    {
        Assert.Throws<ArgumentNullException>("outcomes", () => ((ItemOutcome<int, int>[])null!).ThrowIfFailed());
        Assert.Throws<ArgumentNullException>("outcomes", () => ((ItemOutcome<int>[])null!).ThrowIfFailed());
        Assert.Throws<ArgumentNullException>("outcomes", () => ((ItemOutcome<int, int>[])null!).Failed());
        Assert.Throws<ArgumentNullException>("outcomes", () => ((ItemOutcome<int>[])null!).Failed());
        Assert.Throws<ArgumentNullException>("outcomes", () => ((ItemOutcome<int, int>[])null!).NotSucceeded());
        Assert.Throws<ArgumentNullException>("outcomes", () => ((ItemOutcome<int>[])null!).NotSucceeded());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ToString_OfEachStatus_BeginsWithTheItem()
    {
        ItemOutcome<int, int>[] outcomes = await new[] { 1, 2 }.SelectParallelOutcomesAsync(
            static x => x == 2 ? throw new TestException("no") : x).WithinAsync();
        Assert.Equal(["1: Succeeded: 1", "2: Failed: TestException"], outcomes.Select(static o => o.ToString()));
        ItemOutcome<int>[] actions = await new[] { 1, 2 }.ForEachParallelOutcomesAsync(
            static x => x == 2 ? throw new TestException("no") : default(ValueTask)).WithinAsync();
        Assert.Equal(["1: Succeeded", "2: Failed: TestException"], actions.Select(static o => o.ToString()));
    }
}
