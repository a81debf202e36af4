using System.Collections.Immutable;
using System.Threading.Channels;
using Weir.Polly;
using Weir.Runtimes;
using Weir.Tests.Runtimes;
using static Weir.Tests.Resolution.Calls;

namespace Weir.Tests.Resolution;

/// <summary>Which overload is meant by a call, over sources of one kind, and what the one for tasks does.</summary>
public class CallKindTests
{
    private static readonly int[] Twice = [2, 4, 6];

    private static readonly int[] Sums = [3, 3];

    public static TheoryData<string> Runtimes() => ["direct", "concurrent 2", "parallel 2", "auto 2"];

    [Fact(Timeout = 90_000)]
    public async Task Sources_OfEachKind_TakeCallsOfEachKind()
    {
        int[] array = [1, 2, 3];
        List<int> list = [1, 2, 3];
        HashSet<int> set = [1, 2, 3];
        ImmutableList<int> immutable = [1, 2, 3];
        ImmutableArray<int> immutableArray = [1, 2, 3];
        ArraySegment<int> segment = new(array);
        IReadOnlyList<int> readOnly = array;
        IEnumerable<int> lazy = array.Where(static x => x > 0);
        IQueryable<int> query = array.AsQueryable();
        IAsyncEnumerable<int> later = new Table<int>(array);
        ChannelReader<int> Reader()
        {
            Channel<int> channel = Channel.CreateUnbounded<int>();
            Assert.All(array, x => channel.Writer.TryWrite(x));
            channel.Writer.Complete();
            return channel.Reader;
        }

        Assert.Equal(Twice, await array.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await array.SelectParallelAsync(ValueTwice));
        Assert.Equal(Twice, await list.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await list.SelectParallelAsync(async (x, token) => await TaskTwice(x, token)));
        Assert.Equal(Twice, (await set.SelectParallelAsync(TaskTwice)).Order());
        Assert.Equal(Twice, await immutable.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await immutableArray.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await segment.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await readOnly.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await lazy.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await query.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await later.SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await later.SelectParallelAsync(async (x, token) => await TaskTwice(x, token)));
        Assert.Equal(Twice, await Reader().SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await Reader().PartitionBy(static x => x).SelectParallelAsync(TaskTwice));
        Assert.Equal(Twice, await Reader().SelectParallelAsync(async (x, token) => await TaskTwice(x, token)));
        Assert.Equal(Twice, await Reader().SelectParallelStreamAsync(TaskTwice).ToListAsync(sorted: true));
        Assert.Equal(Twice, (await Reader().SelectParallelOutcomesAsync(TaskTwice)).Select(static o => o.Value));
        Assert.Equal(Sums, await Reader().BatchParallelAsync(2, TaskSum));
        Assert.Equal(Sums, await Reader().BatchParallelStreamAsync(2, TaskSum, batchTimeout: TimeSpan.FromSeconds(20)).ToListAsync(sorted: true));
        Seen seen = new();
        Assert.Equal(array, await seen.AfterAsync(Reader().ForEachParallelAsync(seen.TaskNote)));
    }

    [Fact(Timeout = 90_000)]
    public async Task Calls_ThatFitBothKinds_AreValueTasksAndNotWrapped()
    {
        int[] one = [1];
        Func<int, CancellationToken, Task<bool>> task = static (_, _) => Task.FromResult(IsWrapped());
        Func<int, CancellationToken, ValueTask<bool>> value = static (_, _) => new(IsWrapped());
        Assert.Equal([true], await one.SelectParallelAsync(task));
        Assert.Equal([true], await one.SelectParallelAsync(static (_, _) => Task.FromResult(IsWrapped())));
        Assert.Equal([false], await one.SelectParallelAsync(value));
        Assert.Equal([false], await one.SelectParallelAsync(static (_, _) => new ValueTask<bool>(IsWrapped())));
        Assert.Equal([false], await one.SelectParallelAsync(static async (_, _) =>
        {
            bool wrapped = IsWrapped();
            await Task.Yield();
            return wrapped;
        }));
        Assert.Equal([false], await one.SelectParallelAsync(static async (_, token) => IsWrapped() || await Task.FromResult(false)));
        Assert.Equal([false], await new Table<int>(1).SelectParallelAsync(static async (_, token) => IsWrapped() || await Task.FromResult(false)));
        await one.ForEachParallelAsync(static (_, _) => default);
        await one.ForEachParallelAsync(static async (_, _) =>
        {
            Assert.False(IsWrapped());
            await Task.Yield();
        });
        await one.ForEachParallelAsync(static (_, _) =>
        {
            Assert.True(IsWrapped());
            return Task.CompletedTask;
        });
        await Assert.ThrowsAsync<FormatException>(() => one.ForEachParallelAsync(static (_, _) => throw new FormatException()));
        await Assert.ThrowsAsync<FormatException>(() => one.SelectParallelAsync<int, int>(static (_, _) => throw new FormatException()));
    }

    [Fact(Timeout = 90_000)]
    public async Task Calls_OfThePlatform_AreTakenAsTheyAre()
    {
        string file = Path.GetTempFileName();
        try
        {
            await File.WriteAllTextAsync(file, "text", CancellationToken.None);
            Assert.Equal(["text"], await new[] { file }.SelectParallelAsync(File.ReadAllTextAsync));
            Assert.Equal(["text"], await new[] { file }.SelectParallelAsync((path, token) => File.ReadAllTextAsync(path, token)));
            await new[] { file }.ForEachParallelAsync((path, token) => File.WriteAllTextAsync(path, "more", token));
            Assert.Equal("more", await File.ReadAllTextAsync(file, CancellationToken.None));
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task TaskCall_FailsOrIsCancelled_IsAsAnyOther()
    {
        int[] one = [1];
        FormatException error = new("no");
        Assert.Same(error, await Assert.ThrowsAsync<FormatException>(() => one.SelectParallelAsync((_, _) => Task.FromException<int>(error))));
        Assert.Same(error, await Assert.ThrowsAsync<FormatException>(() => one.ForEachParallelAsync((_, _) => Task.FromException(error))));
        Assert.Contains("null", (await Assert.ThrowsAsync<InvalidOperationException>(() => one.SelectParallelAsync((_, _) => (Task<int>)null!))).Message,
            StringComparison.Ordinal);
        Assert.Contains("null", (await Assert.ThrowsAsync<InvalidOperationException>(() => one.ForEachParallelAsync((_, _) => (Task)null!))).Message,
            StringComparison.Ordinal);
        using CancellationTokenSource caller = new();
        Task<List<int>> run = one.SelectParallelAsync(
            (x, token) => Task.Delay(Timeout.InfiniteTimeSpan, new ManualTimeProvider(), token)
                .ContinueWith(_ => x, token, TaskContinuationOptions.None, TaskScheduler.Default), cancellationToken: caller.Token);
        await caller.CancelAsync();
        Assert.Equal(caller.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run)).CancellationToken);
    }

    [Fact]
    public async Task TaskCall_Null_IsRefusedByName()
    {
        int[] one = [1];
        Assert.Throws<ArgumentNullException>("selector", () => { _ = one.SelectParallelAsync((Func<int, CancellationToken, Task<int>>)null!); });
        Assert.Throws<ArgumentNullException>("selector", () => { _ = one.SelectParallelStreamAsync((Func<int, CancellationToken, Task<int>>)null!); });
        Assert.Throws<ArgumentNullException>("selector", () => { _ = one.SelectParallelOutcomesAsync((Func<int, CancellationToken, Task<int>>)null!); });
        Assert.Throws<ArgumentNullException>("action", () => { _ = one.ForEachParallelAsync((Func<int, CancellationToken, Task>)null!); });
        Assert.Throws<ArgumentNullException>(
            "batchSelector", () => { _ = one.BatchParallelAsync(2, (Func<IReadOnlyList<int>, CancellationToken, Task<int>>)null!); });
        Assert.Throws<ArgumentNullException>(
            "batchSelector", () => { _ = one.BatchParallelStreamAsync(2, (Func<IReadOnlyList<int>, CancellationToken, Task<int>>)null!); });
        Assert.Throws<ArgumentNullException>("source", () => { _ = ((IEnumerable<int>)null!).SelectParallelAsync(TaskTwice); });
        Assert.Throws<ArgumentNullException>("runtime", () => { _ = ((IExecutionRuntime)null!).ProcessManyAsync(one, TaskTwice); });
        await using DirectRuntime direct = new();
        Assert.Throws<ArgumentNullException>("processor", () => { _ = direct.ProcessManyAsync(one, (Func<int, CancellationToken, Task<int>>)null!); });
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Runtimes))]
    public async Task Runtimes_TakeCallsOfEachKind(string name)
    {
        int[] items = [1, 2, 3];
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Assert.Equal(Twice, Values(await runtime.ProcessManyAsync(items, TaskTwice)));
        Assert.Equal(Twice, Values(await runtime.ProcessManyAsync(items, ValueTwice)));
        Assert.Equal(Twice, Values(await runtime.ProcessManyAsync(items, (x, token) => TaskTwice(x, token))));
        Assert.Equal(Twice, Values(await runtime.ProcessManyAsync(items, async (x, token) => await TaskTwice(x, token))));
        Assert.Equal([false, false, false], Values(await runtime.ProcessManyAsync(items, static async (_, _) => IsWrapped() || await Task.FromResult(false))));
        Assert.Equal(Twice, Values(await runtime.ProcessManyAsync(items.PartitionBy(static x => x % 2), TaskTwice)));
        Assert.Equal(Twice,
            (await runtime.ProcessManyStreamAsync(items, TaskTwice, orderedOutput: true).ToListAsync(sorted: false)).Select(static o => o.Outcome.Value));
        PartitionedItems<int> keyed = items.PartitionBy(static x => x % 2);
        Assert.Equal(Twice, (await runtime.ProcessManyStreamAsync(keyed, TaskTwice, orderedOutput: true).ToListAsync(sorted: false))
            .Select(static o => o.Outcome.Value));
        if (runtime is AutoRuntime auto)
        {
            Assert.Equal(Twice, (await auto.ProcessManyWithDecisionsAsync(items, TaskTwice)).Outcomes.Select(static o => o.Value));
        }
    }

    [Fact]
    public void TaskCalls_Profiles_AreThoseOfTheUsersOwnMethods()
    {
        // All wrappers of one type share a method; what was learned of one call must not be taken for another.
        AutoProfiles profiles = new();
        AutoProfile profile = new(new AutoSample(), 1);
        profiles.Keep(Weir.Operators.TaskCalls.Selector<int, int>(TaskTwice), profile);
        Assert.Same(profile, profiles.Find(Weir.Operators.TaskCalls.Selector<int, int>(TaskTwice)));
        Assert.Null(profiles.Find(Weir.Operators.TaskCalls.Selector<int, int>(static (_, _) => Task.FromResult(0))));
    }

    [Fact(Timeout = 90_000)]
    public async Task Polly_TakesCallsOfEachKind()
    {
        int[] items = [1, 2, 3];
        global::Polly.ResiliencePipeline pipeline = global::Polly.ResiliencePipeline.Empty;
        Assert.Equal(Twice, await items.SelectParallelAsync(pipeline.Around((int x, CancellationToken token) => TaskTwice(x, token))));
        Assert.Equal(Twice, await items.SelectParallelAsync(pipeline.Around(async (int x, CancellationToken token) => await TaskTwice(x, token))));
        Assert.Equal(Twice, await items.SelectParallelAsync(pipeline.Around<int, int>(TaskTwice)));
        Assert.Equal(Twice, await items.SelectParallelAsync(global::Polly.ResiliencePipeline<int>.Empty.Around<int, int>(TaskTwice)));
        Seen seen = new();
        Assert.Equal(items, await seen.AfterAsync(items.ForEachParallelAsync(pipeline.Around<int>(seen.TaskNote))));
        Assert.Equal(
            items, await seen.AfterAsync(items.ForEachParallelAsync(pipeline.Around(async (int x, CancellationToken token) => await seen.TaskNote(x, token)))));
    }

    private static IEnumerable<T> Values<T>(IEnumerable<ItemOutcome<int, T>> outcomes) => outcomes.Select(static o => o.Value);
}
