using System.Reflection;
using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Run = Weir.Core.Dispatch.Pump<
    Weir.Core.Tests.Dispatch.RunReuseTests.Item,
    int,
    Weir.Core.Dispatch.PendingResult<int>,
    Weir.Core.Dispatch.SelectorCall<Weir.Core.Tests.Dispatch.RunReuseTests.Item, int>,
    Weir.Core.Sinks.ListSink<int>>;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Small runs that end as they should are used again by later ones, and only they.</summary>
/// <remarks>A run of one item is never watched, so what happens here happens on the test's thread alone. No other test has runs of these types.</remarks>
public class RunReuseTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(5);

    private readonly ManualExecutor _executor = new();

    public RunReuseTests()
    {
        while (Spare<Run>.Take() is not null)
        {
        }
    }

    public enum Reason
    {
        Cancelled,
        Failed,
        FailedInPart,
        TimedOut,
        LookedAt,
        Listed,
        Seen,
        WorkerWaits,
        ForeignTimer,
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Run_IsKept_AsIfItWereNew(bool guarded)
    {
        PumpSettings settings = Settings with { PerItemTimeout = guarded ? Limit : null };
        await EndAsync(settings);
        Run kept = Spare<Run>.Take()!;
        Run made = new(SourceOf.Enumerable(new[] { new Item(0) }), default, default, settings);
        string[] ofItsRun = ["_stop", "Items", "Token", "Context", "Settings", "Call", "Sink", "IsGuarded", "Parks"];
        string[] ofItsEnd = ["_lock", "_workers", "_finished", "HasLeft", "IsReusable", "StartedAt"];
        Assert.Equal([], Differences(typeof(Run), made, kept, [.. ofItsRun, .. ofItsEnd]));
        Assert.All(ofItsRun[..7], field => Assert.Equal(DefaultOf(field), Field(typeof(Run), field)!.GetValue(kept)));

        object newWorker = typeof(Run).GetMethod("CreateWorker", BindingFlags.Instance | BindingFlags.NonPublic)!.Invoke(made, null)!;
        object workers = Field(typeof(Run), "_workers")!.GetValue(kept)!;
        Assert.Null(((RunWorkers)workers).First);
        PumpWorker keptWorker = ((RunWorkers)workers).Idle!;
        Assert.Equal([], Differences(newWorker.GetType(), newWorker, keptWorker, ["_continuation", "_pace", "Guard", "<run>P", "IsOnOwnThread"]));
        if (guarded)
        {
            object newGuard = Field(newWorker.GetType(), "Guard")!.GetValue(newWorker)!;
            object keptGuard = Field(newWorker.GetType(), "Guard")!.GetValue(keptWorker)!;
            Assert.Equal([], Differences(typeof(ItemGuard), newGuard, keptGuard, ["_word", "_ended", "Clock"]));
            ItemClock newClock = ((ItemGuard)newGuard).Clock;
            Assert.Equal([], Differences(typeof(ItemClock), newClock, ((ItemGuard)keptGuard).Clock, ["_spareTokens", "_spareTimer"]));
        }
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(true, true)]
    public async Task Run_UsedAgain_RunsItsOwnItems(bool guardedAtFirst, bool guardedThen)
    {
        await EndAsync(Settings with { PerItemTimeout = guardedAtFirst ? Limit : null });
        Run kept = PutBack();
        for (int i = 1; i < 20; i++)
        {
            TaskCompletionSource<int> call = new();
            CancellationToken seen = default;
            ListCompletion<int> completion = new(1);
            Start(
                (_, token) =>
                {
                    seen = token;
                    return new ValueTask<int>(call.Task);
                },
                completion,
                Settings with { PerItemTimeout = guardedThen ? Limit : null });
            Assert.Null(Spare<Run>.Take());
            _executor.RunAll();
            Assert.Equal((1, 0), (kept.Sample().InFlight, kept.Sample().Succeeded));
            Assert.False(seen.IsCancellationRequested);
            call.SetResult(i);
            Assert.Equal([i], await completion.Task.WithinAsync());
            Assert.Same(kept, PutBack());
        }
    }

    [Theory(Timeout = 90_000)]
    [InlineData(Reason.Cancelled)]
    [InlineData(Reason.Failed)]
    [InlineData(Reason.FailedInPart)]
    [InlineData(Reason.TimedOut)]
    [InlineData(Reason.LookedAt)]
    [InlineData(Reason.Listed)]
    [InlineData(Reason.Seen)]
    [InlineData(Reason.WorkerWaits)]
    [InlineData(Reason.ForeignTimer)]
    public async Task Run_ThatSomebodyMayHave_IsNotKept(Reason reason)
    {
        await EndAsync(Settings);
        Run run = PutBack();
        ManualTimeProvider time = new();
        PumpSettings settings = reason switch
        {
            Reason.FailedInPart => Settings with { ErrorMode = ErrorMode.BestEffort },
            Reason.TimedOut or Reason.ForeignTimer => Settings with { PerItemTimeout = Limit, TimeProvider = time, ErrorMode = ErrorMode.BestEffort },
            Reason.Listed => Settings with { Operation = "test" },
            _ => Settings,
        };
        using CancellationTokenSource stop = new();
        TaskCompletionSource<int> call = new();
        ListCompletion<int> completion = new(1);
        Start((_, _) => new ValueTask<int>(call.Task), completion, settings, stop.Token);
        _executor.RunAll();
        switch (reason)
        {
            case Reason.Cancelled:
                await stop.CancelAsync();
                break;
            case Reason.Failed or Reason.FailedInPart:
                call.SetException(new TestException("one"));
                break;
            case Reason.TimedOut:
                time.Advance(Limit);
                _executor.RunAll();
                break;
            case Reason.LookedAt:
                run.IsLookedAt = true;
                break;
            case Reason.Listed:
                Assert.Contains(run, StallWatch.Unseen()!);
                break;
            case Reason.Seen:
                Assert.True(StallWatch.TrySee(run));
                break;
            case Reason.WorkerWaits:
                FieldInfo field = Field(typeof(Run), "_workers")!;
                object workers = field.GetValue(run)!;
                Field(typeof(RunWorkers), "_queued")!.SetValue(workers, 1);
                Field(typeof(RunWorkers), "_live")!.SetValue(workers, 1);
                field.SetValue(run, workers);
                break;
        }

        call.TrySetResult(1);
        _executor.RunAll();
        await completion.Task.EndsAsync();
        Assert.Null(Spare<Run>.Take());
    }

    [Fact(Timeout = 90_000)]
    public async Task Token_OfAnEarlierRun_DoesNotTouchALaterOne()
    {
        using CancellationTokenSource first = new();
        CancellationToken ofFirst = default;
        ListCompletion<int> ended = new(1);
        Start(
            (_, token) =>
            {
                ofFirst = token;
                return new ValueTask<int>(1);
            },
            ended,
            Settings,
            first.Token);
        _executor.RunAll();
        Assert.Equal([1], await ended.Task.WithinAsync());
        PutBack();

        using CancellationTokenSource second = new();
        CancellationToken ofSecond = default;
        TaskCompletionSource<int> call = new();
        ListCompletion<int> completion = new(1);
        Start(
            (_, token) =>
            {
                ofSecond = token;
                return new ValueTask<int>(call.Task);
            },
            completion,
            Settings,
            second.Token);
        _executor.RunAll();
        await first.CancelAsync();
        Assert.False(ofSecond.IsCancellationRequested);
        await second.CancelAsync();
        Assert.True(ofSecond.IsCancellationRequested);
        Assert.False(ofFirst.IsCancellationRequested, "A token that user code kept is its own run's.");
        call.SetCanceled(ofSecond);
        _executor.RunAll();
        Assert.Equal(second.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => completion.Task.WithinAsync())).CancellationToken);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Kept_HoldsNothingOfItsRun(bool guarded)
    {
        WeakReference[] left = await UsedAsync(Settings with { PerItemTimeout = guarded ? Limit : null });
        Run kept = PutBack();
        await Leak.GoneAsync(left, "what the run had");
        GC.KeepAlive(kept);
    }

    private async Task EndAsync(PumpSettings settings)
    {
        TaskCompletionSource<int> call = new();
        ListCompletion<int> completion = new(1);
        Start((_, _) => new ValueTask<int>(call.Task), completion, settings);
        _executor.RunAll();
        call.SetResult(0);
        await completion.Task.WithinAsync();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private async Task<WeakReference[]> UsedAsync(PumpSettings settings)
    {
        TaskCompletionSource<int> call = new();
        Func<Item, CancellationToken, ValueTask<int>> selector = (_, _) => new ValueTask<int>(call.Task);
        ListCompletion<int> completion = new(1);
        Source<Item> source = SourceOf.Enumerable(new[] { new Item(1) });
        PlainRun.Start(source, selector, new ListSink<int>(completion), settings, null, default);
        _executor.RunAll();
        call.SetResult(0);
        await completion.Task.WithinAsync();
        return [new(call), new(selector), new(completion), new(source), new(settings), new(completion.List)];
    }

    private static void Start(
        Func<Item, CancellationToken, ValueTask<int>> selector,
        ListCompletion<int> completion,
        PumpSettings settings,
        CancellationToken cancellationToken = default) =>
        PlainRun.Start(SourceOf.Enumerable(new[] { new Item(1) }), selector, new ListSink<int>(completion), settings, null, cancellationToken);

    /// <summary>The one run that is kept.</summary>
    private static Run PutBack()
    {
        Run kept = Spare<Run>.Take()!;
        Assert.NotNull(kept);
        Assert.Null(Spare<Run>.Take());
        Spare<Run>.GiveBack(kept);
        return kept;
    }

    private static IEnumerable<string> Differences(Type type, object one, object other, string[] except) =>
        Fields(type).Where(field => !except.Contains(field.Name) && !Equals(field.GetValue(one), field.GetValue(other)))
            .Select(field => $"{field.Name}: {field.GetValue(one)}, {field.GetValue(other)}");

    private static object? DefaultOf(string field) =>
        Field(typeof(Run), field)!.FieldType is { IsValueType: true } type ? RuntimeHelpers.GetUninitializedObject(type) : null;

    private static FieldInfo? Field(Type type, string name) => Fields(type).FirstOrDefault(field => field.Name == name);

    private static IEnumerable<FieldInfo> Fields(Type? type) =>
        type is null ? []
            : type.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly).Concat(Fields(type.BaseType));

    private PumpSettings Settings => new() { Limit = 4, ErrorMode = ErrorMode.FailFast, Executor = _executor };

    internal sealed record Item(int Value);
}
