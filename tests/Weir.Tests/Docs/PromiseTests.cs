using System.Collections.Concurrent;
using Weir.Runtimes;

namespace Weir.Tests.Docs;

/// <summary>Sentences of the pages about threads, tokens and values that flow.</summary>
public class PromiseTests
{
    // docs/reference/runtimes/parallel.md
    [Fact(Timeout = 90_000)]
    public async Task ParallelRuntime_ItemThatAwaited_GoesOnOnThePoolAndTheNextOneOnAThreadOfTheRuntime()
    {
        await using ParallelRuntime runtime = new(1);
        ConcurrentQueue<(bool Before, bool After)> pool = [];
        await runtime.ProcessManyAsync(
            Enumerable.Range(0, 10),
            async (item, token) =>
            {
                bool before = Thread.CurrentThread.IsThreadPoolThread;
                await Task.Run(static () => { }, token).ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
                pool.Enqueue((before, Thread.CurrentThread.IsThreadPoolThread));
                return item;
            },
            cancellationToken: TestContext.Current.CancellationToken);
        Assert.Equal(Enumerable.Repeat((false, true), 10), pool);
    }

    // docs/reference/operators/options.md
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task TokenOfAnItem_KeptBeyondIt_IsCancelledByAStopOfTheRunAndNotByItsEnd(bool stops)
    {
        using CancellationTokenSource cancelling = new();
        List<CancellationToken> kept = [];
        Task<List<int>> run = new[] { 0, 1 }.SelectParallelAsync(
            async (item, token) =>
            {
                kept.Add(token);
                if (item == 1 && stops)
                {
                    await cancelling.CancelAsync();
                    token.ThrowIfCancellationRequested();
                }

                return item;
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = TimeSpan.FromHours(1) },
            cancelling.Token);
        await run.EndsAsync();
        Assert.Equal([stops, stops], kept.Select(static token => token.IsCancellationRequested));
    }

    // docs/reference/operators/select-parallel.md
    [Fact(Timeout = 90_000)]
    public async Task AsyncLocal_SetInAnAsynchronousCall_IsNotSeenByAnother()
    {
        AsyncLocal<int> local = new() { Value = -1 };
        List<int> seen = await Enumerable.Range(0, 1_000).SelectParallelAsync(
            async item =>
            {
                int found = local.Value;
                local.Value = item;
                if (item % 3 == 0)
                {
                    await Task.Yield();
                }

                return found;
            },
            3);
        Assert.All(seen, static found => Assert.Equal(-1, found));
    }

    [Fact(Timeout = 90_000)]
    public async Task AsyncLocal_SetInASynchronousCall_MayBeSeenByTheNextOne()
    {
        AsyncLocal<int> local = new() { Value = -1 };
        List<int> seen = await Enumerable.Range(0, 1_000).SelectParallelAsync(
            item =>
            {
                int found = local.Value;
                local.Value = item;
                return found;
            },
            1);

        // That of the caller or of the item before, as its worker went on or began anew.
        Assert.All(seen.Select(static (found, item) => (found, item)), static s => Assert.True(s.found == -1 || s.found == s.item - 1));
        Assert.Contains(seen, static found => found >= 0);
    }
}
