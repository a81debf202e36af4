using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Sinks;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does TotalTimeout end the whole run, whatever its items do about it, and does what the caller gets say that it was the deadline?</summary>
public class TotalTimeoutTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(1);

    public static MatrixTheoryData<OperatorFamily, SourceKind> Thrown { get; } = new(Cases.Throwing, Cases.Few);

    public static PairwiseTheoryData<OperatorFamily, ErrorMode, Behaviour> Modes() =>
        new(Cases.Throwing, Cases.Modes, Enum.GetValues<Behaviour>());

    public static MatrixTheoryData<Shape, Behaviour> Outcomes { get; } = new(Enum.GetValues<Shape>(), Enum.GetValues<Behaviour>());

    private readonly ManualTimeProvider _clock = new();

    /// <summary>What the calls do when their token is cancelled.</summary>
    public enum Behaviour
    {
        Heeds,
        Ignores,
        Blocks,
    }

    /// <summary>How the outcomes come.</summary>
    public enum Shape
    {
        Array,
        Sequence,
        Action,
        Stream,
        OrderedStream,
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Modes))]
    public async Task Limit_PassesWhileItemsRun_ThrowsInEveryModeWithoutWaitingForThem(OperatorFamily family, ErrorMode mode, Behaviour behaviour)
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 50), Calls(gate, probe, behaviour), Options(mode) with { TotalTimeout = Limit });
        await probe.InsideAsync(4);
        _clock.Advance(Limit - TimeSpan.FromTicks(1));
        await Guard.SettleAsync();
        Assert.False(running.IsCompleted);
        await _clock.AdvanceUntilAsync(running, TimeSpan.FromTicks(1));
        AssertDeadline(await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync()));
        Assert.Equal(4, probe.Entered);
        Assert.Equal(0, _clock.LiveTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Thrown))]
    public async Task Limit_NotReached_ChangesNothingAndLeavesNoTimer(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 200);
        List<int> results = await family.RunAsync(source, Selectors.TwiceAfterYield, Options() with { TotalTimeout = Limit }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, 200).Select(static i => i * 2), results.Order());
        Assert.Equal(0, _clock.LiveTimers);
        source.AssertUsedWell();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_WhileTheSourceIsSilent_EndsTheRun()
    {
        TaskCompletionSource<bool> asked = new();
        Task running = Silent().ForEachParallelAsync(static (_, _) => default, Options() with { TotalTimeout = Limit });
        await asked.Task.WithinAsync();
        await _clock.AdvanceUntilAsync(running, Limit);
        AssertDeadline(await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync()));

        async IAsyncEnumerable<int> Silent([EnumeratorCancellation] CancellationToken token = default)
        {
            yield return 1;
            asked.TrySetResult(true);
            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_OfAStream_CountsFromEachFirstStep()
    {
        using Gate gate = new();
        IAsyncEnumerable<int> stream = new[] { 1, 2 }.SelectParallelStreamAsync(
            async (item, token) =>
            {
                await gate.WaitAsync(token);
                return item;
            },
            Options() with { TotalTimeout = Limit });
        _clock.Advance(Limit * 3);
        for (int run = 0; run < 2; run++)
        {
            await using IAsyncEnumerator<int> consumer = stream.GetAsyncEnumerator(CancellationToken.None);
            Task<bool> step = consumer.MoveNextAsync().AsTask();
            _clock.Advance(Limit * 0.9);
            await Guard.SettleAsync();
            Assert.False(step.IsCompleted);
            await _clock.AdvanceUntilAsync(step, Limit);
            AssertDeadline(await Assert.ThrowsAnyAsync<OperationCanceledException>(() => step.WithinAsync()));
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Outcomes))]
    public async Task Limit_OfARunWithOutcomes_IsInEachOfThoseThatItEnded(Shape shape, Behaviour behaviour)
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Func<int, CancellationToken, ValueTask<int>> call = Calls(gate, probe, behaviour);
        Task<(ItemStatus Status, Exception? Error)[]> running = OutcomesAsync(
            shape, [.. Enumerable.Range(0, 50)], (item, token) => item < 10 ? new(item) : call(item, token), Options() with { TotalTimeout = Limit });
        await probe.InsideAsync(4);
        await _clock.AdvanceUntilAsync(running, Limit);
        (ItemStatus Status, Exception? Error)[] outcomes = await running.WithinAsync();

        // Quick items may have been given back before they ran. Of a sequence that is read as it goes, there is an outcome for what was read.
        Assert.All(outcomes.Index(), static o => Assert.True(o.Item.Status != ItemStatus.Succeeded || o.Index < 10));
        Assert.Equal(4, outcomes.Count(static o => o.Status == ItemStatus.TimedOut));
        Assert.InRange(outcomes.Count(static o => o.Status == ItemStatus.NotRun), shape == Shape.Sequence ? 0 : 36, 46);
        Assert.True(shape == Shape.Sequence || outcomes.Length == 50);
        Assert.Equal(outcomes.Length, outcomes.Count(static o => o.Status is ItemStatus.Succeeded or ItemStatus.TimedOut or ItemStatus.NotRun));
        Assert.All(outcomes, static o => Assert.Equal(o.Status == ItemStatus.Succeeded, o.Error is null));
        Assert.All(outcomes.Where(static o => o.Error is not null), static o => AssertDeadline(o.Error!));
        Assert.Equal(0, _clock.LiveTimers);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Outcomes_OfThreeLimitsAndACaller_SayWhichItWas()
    {
        TaskCompletionSource<int> never = new();
        using CancellationTokenSource caller = new();
        ParallelRunOptions options = Options() with { Output = new() { ReturnOutcomesOnCancellation = true } };
        Assert.IsType<AttemptTimeoutException>((await EndAsync(options with { AttemptTimeout = Limit, PerItemTimeout = 2 * Limit })).Error!.InnerException);
        Assert.IsType<ItemTimeoutException>((await EndAsync(options with { PerItemTimeout = Limit, TotalTimeout = 2 * Limit })).Error!.InnerException);
        Assert.IsType<RunTimeoutException>((await EndAsync(options with { TotalTimeout = Limit, PerItemTimeout = 2 * Limit })).Error!.InnerException);

        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            (_, token) => new ValueTask<int>(never.Task.WaitAsync(token)), options with { TotalTimeout = Limit }, caller.Token);
        await caller.CancelAsync();
        ItemOutcome<int, int> cancelled = (await running.WithinAsync())[0];
        Assert.True(cancelled.Status is ItemStatus.Cancelled or ItemStatus.NotRun);
        Assert.Null(cancelled.Error);

        async Task<ItemOutcome<int, int>> EndAsync(ParallelRunOptions limits)
        {
            using Gate inside = new();
            Task<ItemOutcome<int, int>[]> run = new[] { 0 }.SelectParallelOutcomesAsync(
                (_, _) =>
                {
                    inside.Open();
                    return new ValueTask<int>(never.Task);
                },
                limits);
            await inside.WaitAsync();
            await _clock.AdvanceUntilAsync(run, Limit);
            ItemOutcome<int, int> outcome = (await run)[0];
            Assert.Equal(ItemStatus.TimedOut, outcome.Status);
            return outcome;
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_AfterTheCallersCancellation_BoundsTheWaitForACallThatGoesOn()
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        using CancellationTokenSource caller = new();
        Task<List<int>> running = OperatorFamily.List.RunAsync(
            TestSource.Of(SourceKind.Array, 50), Calls(gate, probe, Behaviour.Ignores), Options() with { TotalTimeout = Limit }, caller.Token);
        await probe.InsideAsync(4);
        await caller.CancelAsync();
        await Guard.SettleAsync();
        Assert.False(running.IsCompleted);
        await _clock.AdvanceUntilAsync(running, Limit);
        Assert.Equal(caller.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync())).CancellationToken);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_WhileAnItemWaitsForItsNextAttempt_EndsItWithoutAnother()
    {
        int calls = 0;
        ParallelRunOptions options = Options() with
        {
            TotalTimeout = Limit,
            Retry = new() { MaxRetries = 9, BaseDelay = 10 * Limit, MaxDelay = 10 * Limit, BackoffStrategy = BackoffStrategy.Exponential },
        };
        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            ValueTask<int> (_, _) =>
            {
                Interlocked.Increment(ref calls);
                throw new TimeoutException();
            },
            options);
        await Guard.UntilAsync(() => _clock.IsArmedFor(10 * Limit), "the wait");
        await _clock.AdvanceUntilAsync(running, Limit);
        ItemOutcome<int, int> outcome = Assert.Single(await running);
        Assert.Equal(ItemStatus.TimedOut, outcome.Status);
        AssertDeadline(outcome.Error!);
        Assert.Equal(1, calls);
    }

    [Fact]
    public void ThrowIfFailed_WhereNothingRanBeforeTheDeadline_SaysSo()
    {
        Exception deadline = TimeLimit.OfRun(Limit);
        ItemOutcome<int, int>[] outcomes = [new(1, default, deadline, ItemStatus.NotRun), new(2, default, deadline, ItemStatus.NotRun)];
        OperationCanceledException e = Assert.ThrowsAny<OperationCanceledException>(outcomes.ThrowIfFailed);
        Assert.Equal("2 items were cancelled or never ran: The run did not end within its time limit of 00:01:00.", e.Message);
        AssertDeadline(e);
        Assert.Same(deadline, Assert.ThrowsAny<OperationCanceledException>(() => outcomes[0].GetValueOrThrow()));
    }

    [Fact]
    public async Task Limit_InThePoliciesOfARuntime_IsRefused()
    {
        await using DirectRuntime runtime = new();
        ParallelRunOptions policies = new() { TotalTimeout = Limit };
        const string Sentence = "TotalTimeout must be null in the Policies of a runtime: it concerns a run, and not an item. (Parameter 'TotalTimeout')";
        Assert.Equal(Sentence, Assert.Throws<ArgumentException>(() => new DirectRuntime(new RuntimeOptions { Policies = policies })).Message);
        Assert.Equal(Sentence, Assert.Throws<ArgumentException>(() =>
        {
            _ = runtime.ProcessManyAsync([1], static x => x, new() { Policies = policies });
        }).Message);
    }

    private static Func<int, CancellationToken, ValueTask<int>> Calls(Gate gate, ConcurrencyProbe probe, Behaviour behaviour) => async (item, token) =>
    {
        using (probe.Enter())
        {
            if (behaviour == Behaviour.Blocks)
            {
                gate.Wait();
            }
            else
            {
                await gate.WaitAsync(behaviour == Behaviour.Heeds ? token : CancellationToken.None);
            }

            return item;
        }
    };

    private static void AssertDeadline(Exception e)
    {
        Assert.IsAssignableFrom<OperationCanceledException>(e);
        Assert.Equal(Limit, Assert.IsType<RunTimeoutException>(e.InnerException).Limit);
        Assert.EndsWith("The run did not end within its time limit of 00:01:00.", e.Message, StringComparison.Ordinal);
    }

    private static async Task<(ItemStatus Status, Exception? Error)[]> OutcomesAsync(
        Shape shape, int[] items, Func<int, CancellationToken, ValueTask<int>> call, ParallelRunOptions options) => shape switch
        {
            Shape.Array => [.. (await items.SelectParallelOutcomesAsync(call, options)).Select(static o => (o.Status, o.Error))],
            Shape.Sequence => [.. (await items.Where(static _ => true).SelectParallelOutcomesAsync(call, options)).Select(static o => (o.Status, o.Error))],
            Shape.Action => [.. (await items.ForEachParallelOutcomesAsync(async (item, token) => { await call(item, token); }, options))
                .Select(static o => (o.Status, o.Error))],
            Shape.Stream or Shape.OrderedStream => [.. (await OperatorRunner.GatherOutcomesAsync(
                items.SelectParallelOutcomesStreamAsync(call, options with { OrderedOutput = shape == Shape.OrderedStream })))
                .Select(static o => (o.Status, o.Error))],
            _ => throw new UnreachableException(),
        };

    private ParallelRunOptions Options(ErrorMode mode = ErrorMode.FailFast) =>
        new() { MaxDegreeOfParallelism = 4, TimeProvider = _clock, ErrorMode = mode };
}
