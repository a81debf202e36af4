using System.Text.Json;
using Weir.Observability;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Tests.Observability;

/// <summary>What a snapshot says of each kind of thing. Other tests of the process have things in it too, so each test looks for its own names.</summary>
public class LiveSnapshotTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact(Timeout = 90_000)]
    public async Task Run_WithoutAnyOption_IsSeen()
    {
        using Gate gate = new();
        HashSet<string> before = [.. Of(LiveKind.Run).Select(static run => run.Id)];
        Task<List<int>> run = new[] { 1, 2, 3 }.SelectParallelAsync(async (x, token) =>
        {
            await gate.WaitAsync(token);
            return x;
        });
        Assert.Contains(Of(LiveKind.Run), entry => !before.Contains(entry.Id) && entry is { Type: "SelectParallelAsync", Name: null, Total: 3, Actions.Count: 0 });
        gate.Open();
        await run;
    }

    [Fact(Timeout = 90_000)]
    public async Task Run_TellsWhatItDoes_UntilItEnds()
    {
        ManualTimeProvider time = new();
        using Gate gate = new();
        RunControl control = new();
        TaskCompletionSource twoWait = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int waiting = 0;
        Task<List<int>> run = Enumerable.Range(0, 10).SelectParallelAsync(
            async (x, token) =>
            {
                if (x == 0)
                {
                    throw new TestException(new string('x', 1000));
                }

                if (Interlocked.Increment(ref waiting) == 2)
                {
                    twoWait.SetResult();
                }

                await gate.WaitAsync(token);
                return x;
            },
            new ParallelRunOptions
            {
                OperationName = "snapshot.run", MaxDegreeOfParallelism = 2, ErrorMode = ErrorMode.BestEffort, Control = control, TimeProvider = time,
            });
        await twoWait.Task;
        LiveEntry seen = Named("snapshot.run");
        Assert.Equal((LiveKind.Run, "SelectParallelAsync", LiveState.Running), (seen.Kind, seen.Type, seen.State));
        Assert.Equal((0, 1, 2, 2, 10), (seen.Done, seen.Failed, seen.InFlight, seen.Limit, seen.Total));
        Assert.Equal(10, seen.Percent);
        Assert.Equal(typeof(TestException).FullName, seen.LastError!.Type);
        Assert.Equal((LiveError.LongestMessage, '…'), (seen.LastError.Message.Length, seen.LastError.Message[^1]));
        Assert.Equal([LiveAction.Pause, LiveAction.Resume, LiveAction.Stop, LiveAction.SetLimit], seen.Actions);

        WeirDiagnostics.Find<RunControl>(seen.Id)!.Pause();
        Assert.True(control.IsPaused);
        Assert.Equal((seen.Id, LiveState.Paused), (Named("snapshot.run").Id, Named("snapshot.run").State));
        WeirDiagnostics.Find<RunControl>(seen.Id)!.MaxDegreeOfParallelism = 5;
        Assert.Equal(5, Named("snapshot.run").Limit);
        WeirDiagnostics.Find<RunControl>(seen.Id)!.Stop();
        Assert.Equal(LiveState.Stopping, Named("snapshot.run").State);
        Assert.Null(WeirDiagnostics.Find<CircuitBreaker>(seen.Id));

        gate.Open();
        await run;
        Assert.DoesNotContain(WeirDiagnostics.Snapshot().Entries, static entry => entry.Name == "snapshot.run");
        Assert.Null(WeirDiagnostics.Find<RunControl>(seen.Id));
    }

    [Fact(Timeout = 90_000)]
    public async Task Run_TotalOfOptions_CountsForASourceThatDoesNotSayIt()
    {
        using Gate gate = new();
        Task run = Lines().ForEachParallelAsync(
            (_, token) => new ValueTask(gate.WaitAsync(token)),
            new ParallelRunOptions { OperationName = "snapshot.lines", Progress = new ProgressOptions { Total = 40 } });
        LiveEntry seen = Named("snapshot.lines");
        Assert.Equal((40, 0.0), (seen.Total, seen.Percent));
        gate.Open();
        await run;

        static IEnumerable<string> Lines()
        {
            for (int i = 0; i < 40; i++)
            {
                yield return "line";
            }
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task Runtime_IsSeenFromItsCreationToItsEnd_WithItsCalls()
    {
        using Gate gate = new();
        ConcurrentRuntime runtime = new(3);
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            [1, 2],
            async (x, token) =>
            {
                await gate.WaitAsync(token);
                return x;
            },
            new ProcessManyOptions { OperationName = "snapshot.call" });
        LiveEntry run = Named("snapshot.call");
        LiveEntry owner = WeirDiagnostics.Snapshot().Entries.Single(entry => entry.Id == run.Parent);
        Assert.Equal((LiveKind.Runtime, "ConcurrentRuntime", "concurrent", LiveState.Running), (owner.Kind, owner.Type, owner.Name, owner.State));
        Assert.Same(runtime, WeirDiagnostics.Find<ConcurrentRuntime>(owner.Id));
        gate.Open();
        await call;
        owner = WeirDiagnostics.Snapshot().Entries.Single(entry => entry.Id == owner.Id);
        Assert.Equal((LiveState.Idle, 2), (owner.State, owner.Done));
        await runtime.DisposeAsync();
        Assert.DoesNotContain(WeirDiagnostics.Snapshot().Entries, entry => entry.Id == owner.Id);
    }

    [Fact]
    public async Task Policies_AreSeen_AndCanBeActedOn()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { Name = "snapshot.breaker" });
        SharedConcurrencyLimit limit = new(2) { Name = "snapshot.limit" };
        TokenBucket bucket = new(new RateLimitOptions { Name = "snapshot.rate" });
        AdaptiveLimit adaptive = new(new AdaptiveLimitOptions { Name = "snapshot.adaptive" });
        CircuitBreakers<string> byKey = CircuitBreakers.ByKey<string, string>(static x => x, new CircuitBreakerOptions { Name = "snapshot.breakers" });
        await limit.EnterAsync(None);

        Assert.Equal(LiveState.Closed, Named("snapshot.breaker").State);
        WeirDiagnostics.Find<CircuitBreaker>(Named("snapshot.breaker").Id)!.Open(new TestException("down"));
        Assert.Equal((LiveState.Open, "down"), (Named("snapshot.breaker").State, Named("snapshot.breaker").LastError!.Message));
        breaker.Isolate();
        Assert.Equal((LiveState.Isolated, 1), (Named("snapshot.breaker").State, Named("snapshot.breaker").Opened));
        breaker.Close();
        breaker.Open();
        breaker.Close();
        Assert.Equal((LiveState.Closed, 2), (Named("snapshot.breaker").State, Named("snapshot.breaker").Opened));

        LiveEntry seen = Named("snapshot.limit");
        Assert.Equal((1, 2, 0, LiveState.Running), (seen.InFlight, seen.Limit, seen.Waiting, seen.State));
        WeirDiagnostics.Find<SharedConcurrencyLimit>(seen.Id)!.Limit = 7;
        Assert.Equal(7, limit.Limit);
        Assert.Equal([LiveAction.SetLimit], seen.Actions);
        Assert.Empty(Named("snapshot.adaptive").Actions);

        Assert.Equal((LiveKind.RateLimit, "TokenBucket", 0), (Named("snapshot.rate").Kind, Named("snapshot.rate").Type, Named("snapshot.rate").Waiting));
        byKey.Get("a").Open();
        _ = byKey.Get("b");
        Assert.Equal((LiveState.Open, new LiveCircuits(1, 0, 1), 1), (Named("snapshot.breakers").State, Named("snapshot.breakers").Circuits, Named("snapshot.breakers").Opened));
        GC.KeepAlive((breaker, limit, bucket, adaptive, byKey));
    }

    [Fact]
    public void RetryBudgets_AreSeenWithWhatIsLeftAndWhatWasRefused()
    {
        ManualTimeProvider time = new();
        RetryBudget budget = new(0.5, minRetriesPerSecond: 1, time) { Name = "snapshot.budget" };
        RetryBudgets<string> byKey = RetryBudgets.ByKey<string, string>(static x => x, 0.25, minRetriesPerSecond: 0, name: "snapshot.budgets", timeProvider: time);
        for (int call = 0; call < 3; call++)
        {
            budget.Deposit();
            byKey.Get("a").Deposit();
            byKey.Get("b").Deposit();
        }

        LiveEntry seen = Named("snapshot.budget");
        Assert.Equal((LiveKind.RetryBudget, "RetryBudget", LiveState.Running), (seen.Kind, seen.Type, seen.State));
        Assert.StartsWith("retry-budget-", seen.Id, StringComparison.Ordinal);
        Assert.Equal(new LiveBudget(1.5, 0, 0.5, 1), seen.Budget);
        Assert.Same(budget, WeirDiagnostics.Find<RetryBudget>(seen.Id));
        Assert.Equal([true, false], new[] { budget.TryWithdraw(), budget.TryWithdraw() });
        Assert.Equal(new LiveBudget(0.5, 1, 0.5, 1), Named("snapshot.budget").Budget);

        // Those of all keys are one entry.
        Assert.False(byKey.Get("a").TryWithdraw());
        seen = Named("snapshot.budgets");
        Assert.Equal(("RetryBudgets", new LiveBudget(1.5, 1, 0.25, 0, 2)), (seen.Type, seen.Budget));
        Assert.Same(byKey, WeirDiagnostics.Find<RetryBudgets>(seen.Id));
        Assert.Contains("\"budget\":{\"balance\":1.5,\"refused\":1,\"ratio\":0.25,\"minPerSecond\":0,\"keys\":2}", System.Text.Encoding.UTF8.GetString(WeirDiagnostics.Snapshot().ToJson()), StringComparison.Ordinal);
        GC.KeepAlive((budget, byKey));
    }

    [Fact]
    public void Json_ReadBack_IsTheSame()
    {
        using CancellationTokenSource stop = new();
        SharedConcurrencyLimit limit = new(2) { Name = "snapshot.json" };
        WeirSnapshot snapshot = WeirDiagnostics.Snapshot();
        byte[] json = snapshot.ToJson();
        WeirSnapshot back = WeirSnapshot.FromJson(json);
        Assert.Equal(json, back.ToJson());
        Assert.Equal(snapshot.Entries.Count, back.Entries.Count);
        Assert.Equal((1, Environment.ProcessId), (back.Version, back.ProcessId));
        string text = System.Text.Encoding.UTF8.GetString(json);
        Assert.Contains("\"kind\":\"limit\"", text, StringComparison.Ordinal);
        Assert.DoesNotContain("null", text, StringComparison.Ordinal);
        Assert.Throws<JsonException>(() => WeirSnapshot.FromJson("null"u8));
        Assert.Throws<JsonException>(static () => WeirSnapshot.FromJson(
            """{"version":2,"time":"2026-01-01T00:00:00Z","processId":1,"processName":"x","entries":[]}"""u8));
        GC.KeepAlive(limit);
    }

    [Fact]
    public void Find_OfNothing_IsNull()
    {
        Assert.Null(WeirDiagnostics.Find<object>("run-0"));
        Assert.Null(WeirDiagnostics.Find<object>(""));
        Assert.Throws<ArgumentNullException>(static () => WeirDiagnostics.Find<object>(null!));
    }

    private static IEnumerable<LiveEntry> Of(LiveKind kind) => WeirDiagnostics.Snapshot().Entries.Where(entry => entry.Kind == kind);

    private static LiveEntry Named(string name) => WeirDiagnostics.Snapshot().Entries.Single(entry => entry.Name == name);
}
