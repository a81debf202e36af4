using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Unused;

/// <summary>Is a result that comes after its item was given up disposed of once, whoever gave it up and wherever the call was?</summary>
public class LateResultTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(1);

    /// <summary>Where the call is when its item's time is over.</summary>
    public enum Where
    {
        /// <summary>It has returned a task, which ends later.</summary>
        Suspended,

        /// <summary>It blocks its thread, and then returns the result.</summary>
        OnItsThread,

        /// <summary>It blocks its thread, and then returns a task that has not ended.</summary>
        SuspendsLate,
    }

    public static MatrixTheoryData<string, Where> Operators { get; } = new(ResultForm.Operators, Enum.GetValues<Where>());

    /// <summary>Those without policies inside: an attempt inside policies cannot be given up while it blocks its thread.</summary>
    public static MatrixTheoryData<string, Where> Plain { get; } =
        new([.. ResultForm.Operators.Where(static form => !form.StartsWith("detailed", StringComparison.Ordinal))], Enum.GetValues<Where>());

    /// <summary>Those whose items the call gets as they are, and not in a batch.</summary>
    public static MatrixTheoryData<string, Where> Unbatched { get; } =
        new([.. ResultForm.Operators.Where(static form => !form.StartsWith("batch", StringComparison.Ordinal))], Enum.GetValues<Where>());

    public static MatrixTheoryData<string, Where> Runtimes { get; } =
        new(["concurrent 3", "parallel 2", "auto 3", "concurrent 3 as a stream", "auto 3 as a stream", "auto 3 with policies"], Enum.GetValues<Where>());

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Operators))]
    [MemberData(nameof(Runtimes))]
    public Task LateResult_OfAnItemThatTimedOut_IsDisposedOfOnce(string form, Where where) =>
        RunAsync(form, where, new ParallelRunOptions { MaxDegreeOfParallelism = 4, PerItemTimeout = Limit });

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Operators))]
    public Task LateResult_WithAFewItemsInFlight_IsDisposedOfOnce(string form, Where where) =>
        RunAsync(form, where, new ParallelRunOptions { MaxDegreeOfParallelism = 2, PerItemTimeout = Limit });

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Plain))]
    public Task LateResult_OfAnAttempt_IsDisposedOfOnce(string form, Where where) =>
        RunAsync(form, where, new ParallelRunOptions { MaxDegreeOfParallelism = 2, AttemptTimeout = Limit });

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Operators))]
    public Task LateResult_InsidePolicies_IsDisposedOfOnce(string form, Where where) =>
        RunAsync(
            form,
            where,
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 2,
                PerItemTimeout = Limit,
                ConcurrencyLimit = new SharedConcurrencyLimit(5),
                OnStartItemAsync = static _ => default,
                OnCompleteItemAsync = static _ => default,
            });

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("list", false)]
    [InlineData("direct", false)]
    [InlineData("direct as a stream", false)]
    [InlineData("list", true)]
    public async Task LateResult_OfAnAwaitedCallThatIsGivenUp_IsDisposedOfOnce(string form, bool isAttempt)
    {
        ParallelRunOptions options = isAttempt
            ? new() { MaxDegreeOfParallelism = 2, AttemptTimeout = Limit, ConcurrencyLimit = new SharedConcurrencyLimit(5) }
            : new() { MaxDegreeOfParallelism = 2, PerItemTimeout = Limit };
        await RunAsync(form, Where.Suspended, options);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("direct")]
    [InlineData("concurrent 3")]
    [InlineData("parallel 2")]
    [InlineData("auto 3")]
    public async Task LateResult_AfterTheRuntimeHasEnded_IsDisposedOfOnce(string name)
    {
        TaskCompletionSource<Resource> call = new();
        TaskCompletionSource begun = new();
        IExecutionRuntime runtime = Tests.Runtimes.RuntimeCases.Create(name, new RuntimeOptions { GracePeriod = TimeSpan.Zero });
        Task<ItemOutcome<int, Resource>[]> running = runtime.ProcessManyAsync([1], (_, _) =>
        {
            begun.SetResult();
            return new ValueTask<Resource>(call.Task);
        });
        await begun.Task.WithinAsync();
        await runtime.DisposeAsync().WithinAsync();
        Assert.Equal(ItemStatus.Cancelled, (await running.WithinAsync())[0].Status);
        Resource late = new(1);
        call.SetResult(late);
        await late.DisposedOnceAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task LateResult_AfterTheCallsTimeLimit_IsDisposedOfOnce(bool isAuto)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = Tests.Runtimes.RuntimeCases.Create(isAuto ? "auto 3" : "concurrent 3", clock);
        TaskCompletionSource<Resource> call = new();
        TaskCompletionSource begun = new();
        Task<ItemOutcome<int, Resource>[]> running = runtime.ProcessManyAsync(
            [1],
            (_, _) =>
            {
                begun.SetResult();
                return new ValueTask<Resource>(call.Task);
            },
            new ProcessManyOptions { TotalTimeout = Limit });
        await clock.DriveAsync(running, Limit, () => begun.Task.IsCompleted);
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
        Resource late = new(1);
        call.SetResult(late);
        await late.DisposedOnceAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Unbatched))]
    [MemberData(nameof(Runtimes))]
    public Task LateResult_ThatIsTheItemItself_IsTheCallers(string form, Where where) =>
        RunAsync(form, where, new ParallelRunOptions { MaxDegreeOfParallelism = 4, PerItemTimeout = Limit }, returnsItem: true);

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task LateResult_WhoseDisposalThrowsOrHangs_HarmsNothing(bool hangs)
    {
        TaskCompletionSource<Resource> call = new();
        Task<ItemOutcome<int, Resource>[]> running = await TimeOutAsync(call.Task);
        Faulty late = new(hangs);
        call.SetResult(late);
        await late.DisposedOnceAsync();
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task LateResult_IsDisposedOfAwayFromTheThreadThatCompletesTheCall()
    {
        TaskCompletionSource<Resource> call = new();
        Task<ItemOutcome<int, Resource>[]> running = await TimeOutAsync(call.Task);
        ThreadKeeping late = new();
        Thread completes = new(() => call.SetResult(late)) { IsBackground = true };
        completes.Start();
        await late.DisposedOnceAsync();
        Assert.NotEqual(completes.ManagedThreadId, late.DisposedOn);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task LateResult_OfTypeObject_IsDisposedOfIfItIsDisposable()
    {
        TaskCompletionSource<object>[] calls = [new(), new()];
        await TimeOutAsync(calls[0].Task);
        await TimeOutAsync(calls[1].Task);
        Resource late = new(1);
        calls[0].SetResult("nothing to dispose of");
        calls[1].SetResult(late);
        await late.DisposedOnceAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task Result_WhoseCompletionHookFails_IsDisposedOfOnce(bool yields, bool ofItems)
    {
        List<Resource> made = [];
        ParallelRunOptions options = ofItems
            ? new() { Hooks = new ItemHooks<int> { OnCompleteItemAsync = _ => HookAsync(yields) } }
            : new() { OnCompleteItemAsync = _ => HookAsync(yields) };
        ItemOutcome<int, Resource>[] outcomes = await new[] { 0, 1 }.SelectParallelOutcomesAsync(
            async (x, _) =>
            {
                if (x == 1)
                {
                    await Task.Yield();
                }

                Resource resource = new(x);
                lock (made)
                {
                    made.Add(resource);
                }

                return resource;
            },
            options).WithinAsync();
        Assert.All(outcomes, static outcome => Assert.Equal("hook", outcome.Error?.Message));
        Assert.Equal(2, made.Count);
        foreach (Resource resource in made)
        {
            await resource.DisposedOnceAsync();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task FallbackResult_AfterTheCallsTimeLimit_IsDisposedOfOnce(bool blocks)
    {
        ManualTimeProvider clock = new();
        await using ConcurrentRuntime runtime = new(2, new RuntimeOptions { TimeProvider = clock });
        TaskCompletionSource begun = new();
        using Gate gate = new();
        TaskCompletionSource<Resource> fallback = new();
        Resource late = new(1);
        Task<ItemOutcome<int, Resource>[]> running = runtime.ProcessManyAsync<int, Resource>(
            [1],
            (_, _) => throw new TestException("as planned"),
            new ProcessManyOptions
            {
                TotalTimeout = Limit,
                Policies = new ParallelRunOptions
                {
                    OnFallback = Fallback.OfAsync<Resource>((_, _) =>
                    {
                        begun.SetResult();
                        if (!blocks)
                        {
                            return new ValueTask<Resource>(fallback.Task);
                        }

                        gate.Wait(CancellationToken.None);
                        return new ValueTask<Resource>(late);
                    }),
                },
            });
        await clock.DriveAsync(running, Limit, () => begun.Task.IsCompleted);
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
        gate.Open();
        fallback.SetResult(late);
        await late.DisposedOnceAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Result_WhoseRetryRuleThrows_IsDisposedOfOnce()
    {
        Resource made = new(0);
        ItemOutcome<int, Resource>[] outcomes = await new[] { 0 }.SelectParallelOutcomesAsync(
            (_, _) => new ValueTask<Resource>(made),
            new ParallelRunOptions { MaxRetries = 1, ShouldRetry = RetryRule.Of<Resource>(static _ => throw new TestException("rule")) }).WithinAsync();
        Assert.Equal("rule", outcomes[0].Error?.Message);
        await made.DisposedOnceAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RefusedResult_ThatIsTheItemItself_IsTheCallers()
    {
        Resource item = new(0);
        int asked = 0;
        List<Resource> got = await new[] { item }.SelectParallelAsync(
            static (resource, _) => new ValueTask<Resource>(resource),
            new ParallelRunOptions
            {
                MaxRetries = 1,
                BaseDelay = TimeSpan.Zero,
                ShouldRetry = RetryRule.Of<Resource>(_ => Interlocked.Increment(ref asked) == 1),
            }).WithinAsync();
        Assert.Equal([item], got);
        await Guard.SettleAsync();
        Assert.Equal(0, item.Disposals);
    }

    /// <summary>A run whose one item has timed out while its call goes on.</summary>
    private static async Task<Task<ItemOutcome<int, TResult>[]>> TimeOutAsync<TResult>(Task<TResult> call)
    {
        ManualTimeProvider clock = new();
        TaskCompletionSource begun = new();
        Task<ItemOutcome<int, TResult>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            (_, _) =>
            {
                begun.SetResult();
                return new ValueTask<TResult>(call);
            },
            new ParallelRunOptions { PerItemTimeout = Limit, TimeProvider = clock });
        await clock.DriveAsync(running, Limit, () => begun.Task.IsCompleted);
        return running;
    }

    private static async ValueTask HookAsync(bool yields)
    {
        if (yields)
        {
            await Task.Yield();
        }

        throw new TestException("hook");
    }

    /// <summary>The second of four items ends after its time, which passes while the call is where the case says.</summary>
    private static async Task RunAsync(string form, Where where, ParallelRunOptions options, bool returnsItem = false)
    {
        ManualTimeProvider clock = new();
        Resource[] items = [.. Enumerable.Range(0, 4).Select(static number => new Resource(number))];
        Resource late = returnsItem ? items[1] : new Resource(1);
        TaskCompletionSource<Resource> pending = new();
        using Gate blocked = new();
        List<Resource> got = [];
        ConcurrentQueue<Resource> made = [];
        bool isLateBegun = false;
        int others = 0;
        int before = form.StartsWith("direct", StringComparison.Ordinal) ? 1 : 3;
        Task running = ResultForm.RunAsync(
            form,
            items,
            async (item, _) =>
            {
                if (item.Number != 1)
                {
                    Resource result = returnsItem ? item : new Resource(item.Number);
                    made.Enqueue(result);
                    Interlocked.Increment(ref others);
                    return result;
                }

                Volatile.Write(ref isLateBegun, true);
                if (where == Where.Suspended)
                {
                    return await pending.Task;
                }

                blocked.Wait(CancellationToken.None);
                return where == Where.OnItsThread ? late : await pending.Task;
            },
            options with { ErrorMode = ErrorMode.BestEffort, TimeProvider = clock },
            got,
            token: TestContext.Current.CancellationToken);
        await Guard.UntilAsync(() => Volatile.Read(ref isLateBegun) && Volatile.Read(ref others) >= before, "the calls");
        await Guard.SettleAsync();
        await clock.DriveAsync(running, TimeSpan.FromSeconds(0.25));
        await running;
        Assert.DoesNotContain(1, got.Select(static result => result.Number));
        Assert.Equal(got.Count, got.Distinct().Count());
        blocked.Open();
        pending.SetResult(late);

        // Another item whose worker is held up on its way out is out of time as well, and its result late.
        Resource[] unread = [late, .. made.Except(got)];
        if (returnsItem)
        {
            await Guard.SettleAsync();
            Assert.All(unread, static result => Assert.Equal(0, result.Disposals));
        }
        else
        {
            await Task.WhenAll(unread.Select(static result => result.DisposedOnceAsync()));
        }

        Assert.All(got, static result => Assert.Equal(0, result.Disposals));
    }

    private sealed class Faulty(bool hangs) : Resource(0)
    {
        public override async ValueTask DisposeAsync()
        {
            await base.DisposeAsync();
            await (hangs ? new TaskCompletionSource().Task : Task.FromException(new TestException("disposal")));
        }
    }

    private sealed class ThreadKeeping() : Resource(0)
    {
        public int DisposedOn { get; private set; }

        public override ValueTask DisposeAsync()
        {
            DisposedOn = Environment.CurrentManagedThreadId;
            return base.DisposeAsync();
        }
    }
}
