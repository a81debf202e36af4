using System.Collections.Concurrent;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>Every runtime takes a sequence that is no list: it is read while the call goes on, and ends the call with what it throws.</summary>
public class RuntimeSequenceTests
{
    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Sequence_OfAnyLength_GivesAnOutcomeForEachItemOnce(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (int count in new[] { 0, 1, 300, 3000 })
        {
            int[] calls = new int[count];
            async ValueTask<int> TwiceAsync(int x, CancellationToken token)
            {
                Interlocked.Increment(ref calls[x]);
                if (x % 5 == 3)
                {
                    await Task.Yield();
                }

                return x % 7 == 6 ? throw new TestException("item") : 2 * x;
            }

            foreach (bool keyed in new[] { false, true })
            {
                Array.Clear(calls);
                IEnumerable<int> items = keyed ? Lazy(count).PartitionBy(static x => x % 3) : Lazy(count);
                ItemOutcome<int, int>[] outcomes = await RuntimeRun.Start(form, runtime, items, TwiceAsync).WithinAsync($"{count} items");
                Assert.Equal(Enumerable.Range(0, count).Select(static x => x % 7 == 6 ? 0 : 2 * x), outcomes.Select(static o => o.IsSuccess ? o.Value : 0));
                Assert.All(outcomes, static (o, x) => Assert.Equal(x % 7 == 6 ? ItemStatus.Failed : ItemStatus.Succeeded, o.Status));
                Assert.All(calls, static made => Assert.Equal(1, made));
            }
        }

        Assert.Equal(0, runtime.Statistics.ActiveCalls);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Sequence_ThatThrows_EndsTheCallWithItsException(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        bool disposed = false;
        IEnumerable<int> Breaking()
        {
            try
            {
                yield return 0;
                yield return 1;
                throw new TestException("sequence");
            }
            finally
            {
                disposed = true;
            }
        }

        TestException thrown = await Assert.ThrowsAsync<TestException>(
            () => RuntimeRun.Start(form, runtime, Breaking(), static (x, _) => new ValueTask<int>(x)).WithinAsync("the call"));
        Assert.Equal("sequence", thrown.Message);
        Assert.True(disposed);
        Assert.Equal(0, runtime.Statistics.ActiveCalls);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Cancellation_OfAnEndlessSequence_EndsTheCallAndTheSequence(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using CancellationTokenSource cancellation = new();
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        IEnumerable<int> Endless()
        {
            try
            {
                for (int x = 0; ; x++)
                {
                    yield return x;
                }
            }
            finally
            {
                ended.SetResult();
            }
        }

        OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => RuntimeRun.Start(
            form,
            runtime,
            Endless(),
            async (x, token) =>
            {
                if (x == 40)
                {
                    await cancellation.CancelAsync();
                }

                await Task.Yield();
                return x;
            },
            cancellationToken: cancellation.Token).WithinAsync("the call"));
        Assert.Equal(cancellation.Token, thrown.CancellationToken);
        await ended.Task.WithinAsync("the end of the sequence");
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Stop_OfAnEndlessSequence_GivesWhatHasBegun(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        RunControl control = new();
        ConcurrentDictionary<int, bool> begun = new();
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.Start(
            form,
            runtime,
            Lazy(int.MaxValue),
            async (x, _) =>
            {
                begun[x] = true;
                if (x == 20)
                {
                    control.Stop();
                }

                await Task.Yield();
                return x;
            },
            new ProcessManyOptions { Control = control }).WithinAsync("the call");
        Assert.InRange(outcomes.Length, 21, int.MaxValue);
        Assert.All(outcomes, (o, x) => Assert.Equal(begun.ContainsKey(x) ? ItemStatus.Succeeded : ItemStatus.NotRun, o.Status));
        Assert.Equal(20, outcomes[20].Value);
    }

    [Fact(Timeout = 90_000)]
    public async Task DirectRuntime_ItemsThatDoNotWait_RunOnTheCallersThread()
    {
        await using DirectRuntime runtime = new();
        int caller = Environment.CurrentManagedThreadId;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(Lazy(20), static (_, _) => new ValueTask<int>(Environment.CurrentManagedThreadId));
        ItemOutcome<int, int>[] outcomes = await call;
        Assert.Equal(20, outcomes.Length);
        Assert.All(outcomes, o => Assert.Equal(caller, o.Value));
    }

    private static IEnumerable<int> Lazy(int count)
    {
        for (int x = 0; x < count; x++)
        {
            yield return x;
        }
    }
}
