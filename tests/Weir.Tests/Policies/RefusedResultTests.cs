using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Is a disposable result that a rule refused disposed of exactly once, however its item goes on?</summary>
public class RefusedResultTests
{
    /// <summary>What happens between the refusal and the next attempt.</summary>
    public enum Follows
    {
        Nothing,
        TheRuleStopsTheRun,
        TheHookStopsTheRun,
        TheWaitIsCancelled,
        TheHookThrows,
        TheHintThrows,
        DisposalThrows,
        TheHookAndDisposalThrow,
    }

    public static MatrixTheoryData<Follows, bool, bool> Ways { get; } =
        new(Enum.GetValues<Follows>(), [false, true], [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Ways))]
    public async Task RefusedResult_WhateverFollows_IsDisposedOfOnce(Follows then, bool yields, bool guarded)
    {
        ConcurrentQueue<Answer> made = [];
        using CancellationTokenSource caller = new();
        ManualTimeProvider clock = new();
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 2,
            MaxRetries = 1,
            BackoffStrategy = BackoffStrategy.Exponential,
            BaseDelay = then == Follows.TheWaitIsCancelled ? TimeSpan.FromMinutes(1) : TimeSpan.Zero,
            TimeProvider = then == Follows.TheWaitIsCancelled ? clock : TimeProvider.System,
            PerItemTimeout = guarded ? TimeSpan.FromDays(1) : null,
            Output = new() { ReturnOutcomesOnCancellation = true },
            OnRetryAsync = (_, _, _) =>
            {
                if (then == Follows.TheHookStopsTheRun)
                {
                    caller.Cancel();
                }

                return then is Follows.TheHookThrows or Follows.TheHookAndDisposalThrow ? throw new TestException("hook") : default;
            },
            ShouldRetry = RetryRule.Of<Answer>(
                outcome =>
                {
                    if (then == Follows.TheRuleStopsTheRun)
                    {
                        caller.Cancel();
                    }

                    return outcome.Result!.Number == 1;
                },
                _ => then == Follows.TheHintThrows ? throw new TestException("hint") : null),
        };
        int calls = 0;
        Task<ItemOutcome<int, Answer>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            async (_, _) =>
            {
                if (yields)
                {
                    await Task.Yield();
                }

                Answer answer = new(Interlocked.Increment(ref calls), then is Follows.DisposalThrows or Follows.TheHookAndDisposalThrow);
                made.Enqueue(answer);
                return answer;
            },
            options,
            caller.Token);
        if (then == Follows.TheWaitIsCancelled)
        {
            await Guard.UntilAsync(() => clock.NextDue <= TimeSpan.FromMinutes(1), "the wait for the second attempt");
            await caller.CancelAsync();
        }

        ItemOutcome<int, Answer> outcome = (await running.WithinAsync())[0];
        Answer[] answers = [.. made];
        Assert.Equal(1, answers[0].Disposals);
        Assert.All(answers.Skip(1), static a => Assert.Equal(0, a.Disposals));
        (ItemStatus Status, string? Error) expected = then switch
        {
            Follows.Nothing => (ItemStatus.Succeeded, null),
            Follows.TheHookThrows or Follows.TheHookAndDisposalThrow => (ItemStatus.Failed, "hook"),
            Follows.TheHintThrows => (ItemStatus.Failed, "hint"),
            Follows.DisposalThrows => (ItemStatus.Failed, "disposal"),
            _ => (ItemStatus.Cancelled, null),
        };
        Assert.Equal(expected, (outcome.Status, outcome.Status == ItemStatus.Failed ? outcome.Error?.Message : null));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task RefusedResult_OfAnItemThatWasGivenUp_IsDisposedOf(bool blocks)
    {
        ManualTimeProvider clock = new();
        Answer late = new(1, throws: false);
        using Gate begun = new();
        using Gate blocked = new();
        TaskCompletionSource<Answer> pending = new();
        Task<ItemOutcome<int, Answer>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            (_, _) =>
            {
                begun.Open();
                if (!blocks)
                {
                    return new ValueTask<Answer>(pending.Task);
                }

                blocked.Wait(CancellationToken.None);
                return new ValueTask<Answer>(late);
            },
            new ParallelRunOptions
            {
                MaxRetries = 1,
                PerItemTimeout = TimeSpan.FromSeconds(1),
                TimeProvider = clock,
                ShouldRetry = RetryRule.Of<Answer>(static _ => true),
            });
        await begun.WaitAsync();
        await clock.DriveAsync(running, TimeSpan.FromSeconds(0.1));
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
        blocked.Open();
        pending.TrySetResult(late);
        await Guard.UntilAsync(() => late.Disposals == 1, "the end of what the call returned late");
    }

    private sealed class Answer(int number, bool throws) : IAsyncDisposable
    {
        private int _disposals;

        public int Number => number;

        public int Disposals => Volatile.Read(ref _disposals);

        public async ValueTask DisposeAsync()
        {
            await Task.Yield();
            Interlocked.Increment(ref _disposals);
            if (throws)
            {
                throw new TestException("disposal");
            }
        }
    }
}
