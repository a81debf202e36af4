using System.Collections.Concurrent;
using Weir.Runtimes;
using Weir.Tests.Runtimes;
using static Weir.Tests.Resolution.Calls;

namespace Weir.Tests.Resolution;

/// <summary>What the overloads for calls without a token and for synchronous ones do. Which of them is meant is the matter of the shapes.</summary>
public class OtherShapeTests
{
    private static readonly int[] Items = [1, 2, 3];

    private static readonly int[] Twice = [2, 4, 6];

    private static readonly int[] Sums = [3, 3];

    [Fact(Timeout = 90_000)]
    public async Task Operators_CallsOfOtherShapes_GiveTheirResults()
    {
        Assert.Equal(Twice, await Items.SelectParallelAsync(static x => 2 * x));
        Assert.Equal(Twice, await Items.SelectParallelAsync(static x => Task.FromResult(2 * x)));
        Assert.Equal(Twice, await Items.SelectParallelAsync(static x => new ValueTask<int>(2 * x)));
        Assert.Equal(Twice, await Items.SelectParallelAsync(static async x => await TaskTwice(x, default)));
        Assert.Equal(Twice, await Items.PartitionBy(static x => x % 2).SelectParallelAsync(static x => 2 * x));
        Assert.Equal(Twice, await new Table<int>(Items).SelectParallelAsync(static x => 2 * x));
        Assert.Equal(Twice, await Items.SelectParallelStreamAsync(static x => 2 * x).ToListAsync(sorted: true));
        Assert.Equal(Twice, (await Items.SelectParallelOutcomesAsync(static x => Task.FromResult(2 * x))).Select(static o => o.Value));
        Assert.Equal(Sums, await Items.BatchParallelAsync(2, static batch => batch.Sum()));
        Assert.Equal(Sums, await Items.BatchParallelStreamAsync(2, static batch => Task.FromResult(batch.Sum())).ToListAsync(sorted: true));
        Assert.Equal(Twice, await Items.SelectParallelAsync(static (x, token) => token.CanBeCanceled ? 2 * x : 0));
        Assert.Equal(Twice, await Items.SelectParallelAsync(TaskTwice, cancellationToken: CancellationToken.None));
        Assert.Equal(Twice, await Items.SelectParallelAsync(static x => 2 * x, 4, CancellationToken.None));
        using CancellationTokenSource cancelled = new();
        await cancelled.CancelAsync();
        Assert.Equal(cancelled.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => Items.SelectParallelAsync(static x => x, cancellationToken: cancelled.Token))).CancellationToken);
        await Assert.ThrowsAsync<InvalidOperationException>(() => Items.SelectParallelAsync(static (x, _) => (object)Task.CompletedTask));
        ConcurrentDictionary<int, bool> set = [];
        await Items.ForEachParallelAsync(x => set.TryAdd(x, true));
        await Items.ForEachParallelAsync(x => set.TryAdd(-x, true));
        await Items.ForEachParallelAsync((x, _) => { set[x] = set.ContainsKey(-x); });
        Assert.Equal([-3, -2, -1, 1, 2, 3], set.Keys.Order());
        Assert.All(set, static pair => Assert.True(pair.Value));
        Seen seen = new();
        Assert.Equal(Items, await seen.AfterAsync(Items.ForEachParallelAsync(x => seen.TaskNote(x, default))));
        Assert.Equal(Items, await seen.AfterAsync(Items.ForEachParallelAsync(x => seen.ValueNote(x, default))));
        Assert.Equal(Items, await seen.AfterAsync(Items.ForEachParallelAsync(async x => await seen.TaskNote(x, default))));
        Assert.Equal(Items, await seen.AfterAsync(Items.ForEachParallelAsync(async (x, token) => await new ValueTask<bool>(seen.TaskAnswer(x, token)))));
        Assert.Equal(Items, await seen.AfterAsync(Items.ForEachParallelAsync(x => seen.TaskAnswer(x, default))));
        Assert.Equal(Items, await seen.AfterAsync(Items.ForEachParallelAsync(x => { _ = seen.ValueNote(x, default); })));
    }

    [Theory(Timeout = 90_000)]
    [InlineData("direct")]
    [InlineData("concurrent 2")]
    [InlineData("parallel 2")]
    [InlineData("auto 2")]
    public async Task Runtimes_CallsOfOtherShapes_GiveTheirResults(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Assert.Equal(Twice, (await runtime.ProcessManyAsync(Items, static x => 2 * x)).Select(static o => o.Value));
        Assert.Equal(Twice, (await runtime.ProcessManyAsync(Items, static x => Task.FromResult(2 * x))).Select(static o => o.Value));
        PartitionedItems<int> keyed = Items.PartitionBy(static x => x % 2);
        Assert.Equal(Twice, (await runtime.ProcessManyAsync(keyed, static x => new ValueTask<int>(2 * x))).Select(static o => o.Value));
        List<(int Index, ItemOutcome<int, int> Outcome)> stream =
            await runtime.ProcessManyStreamAsync(Items, static x => 2 * x, orderedOutput: true).ToListAsync(sorted: false);
        Assert.Equal(Twice, stream.Select(static o => o.Outcome.Value));
    }

    [Fact]
    public void SelectParallelAsync_ActionWhereAResultIsWanted_IsRefused()
    {
        Assert.Throws<ArgumentException>("selector", () => { _ = Items.SelectParallelAsync(static async x => { await Task.Yield(); }); });
        Assert.Throws<ArgumentException>("selector", () => { _ = Items.SelectParallelAsync(static x => Task.CompletedTask); });
        Assert.Throws<ArgumentException>("selector", () => { _ = Items.SelectParallelOutcomesAsync(static x => ValueTask.CompletedTask); });
        Assert.Throws<ArgumentException>("batchSelector", () => { _ = Items.BatchParallelAsync(2, static x => Task.CompletedTask); });
    }

    [Fact]
    public async Task Calls_Null_AreRefusedByName()
    {
        await using DirectRuntime direct = new();
        Assert.Throws<ArgumentNullException>("selector", () => { _ = Items.SelectParallelAsync((Func<int, int>)null!); });
        Assert.Throws<ArgumentNullException>("selector", () => { _ = Items.SelectParallelAsync((Func<int, Task<int>>)null!); });
        Assert.Throws<ArgumentNullException>("selector", () => { _ = Items.SelectParallelAsync((Func<int, ValueTask<int>>)null!); });
        Assert.Throws<ArgumentNullException>("action", () => { _ = Items.ForEachParallelAsync((Action<int>)null!); });
        Assert.Throws<ArgumentNullException>("action", () => { _ = Items.ForEachParallelAsync((Func<int, Task>)null!); });
        Assert.Throws<ArgumentNullException>("action", () => { _ = Items.ForEachParallelAsync((Func<int, ValueTask>)null!); });
        Assert.Throws<ArgumentNullException>("processor", () => { _ = direct.ProcessManyAsync(Items, (Func<int, int>)null!); });
    }

    [Fact(Timeout = 90_000)]
    public async Task Calls_ThatThrow_FailTheirItems()
    {
        FormatException error = new("no");
        Assert.Same(error, await Assert.ThrowsAsync<FormatException>(() => Items.SelectParallelAsync(x => x > 0 ? throw error : x)));
        Assert.Same(error, await Assert.ThrowsAsync<FormatException>(() => Items.ForEachParallelAsync(x => throw error)));
        Func<Task>[] nothing = [() => Items.SelectParallelAsync(static x => (Task<int>)null!), () => Items.ForEachParallelAsync(static x => (Task)null!)];
        foreach (Func<Task> run in nothing)
        {
            Assert.Contains("null", (await Assert.ThrowsAsync<InvalidOperationException>(run)).Message, StringComparison.Ordinal);
        }
    }
}
