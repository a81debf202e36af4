#if DEBUG
using System.Collections.Concurrent;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

/// <summary>
/// Where the engine works on a thread on which no caller is above it, it may run out of memory. Each run here fails at the first such place that it passes,
/// then at the second, and so on: it always ends, says why, and no exception leaves its thread.
/// </summary>
public sealed class UnattendedFaultTests : IDisposable
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(3);

    private static readonly (string File, string Text)[] Elsewhere =
    [
        ("AdaptiveController.cs", "Unattended.Run("),
        ("ListenerDetector.cs", "Unattended.Run("),
        ("LiveEvents.cs", "Unattended.Run("),
        ("Batches.cs", "Unattended.Run("),
        ("WorkQueue.cs", "Unattended.Run("),
    ];

    private readonly ConcurrentDictionary<string, int> _places = new();
    private Gate _gate = new();
    private volatile Pump? _pump;
    private int _countdown;
    private bool _again;

    public UnattendedFaultTests() => FaultPoint.Passed += AtPlace;

    public enum Scenario
    {
        Parked,
        ParkedAndTimed,
        Waiting,
        WaitingAndTimed,
        BlockingAndTimed,
        Failing,
        FailingParked,
        Retried,
        Cancelled,
        Aborted,
        OwnThreads,
    }

    public static TheoryData<Scenario, bool> Scenarios() => [.. Enum.GetValues<Scenario>().SelectMany(static s => new[] { (s, false), (s, true) })];

    public void Dispose()
    {
        FaultPoint.Passed -= AtPlace;
        _gate.Dispose();
    }

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Scenarios))]
    public async Task Run_FailsAtAnyPlace_EndsWithIt(Scenario scenario, bool again)
    {
        int most = int.MaxValue;
        for (int at = 1; at <= most && at <= 60; at++)
        {
            _again = again;
            _countdown = at;
            using ThreadTeam team = new(2, "test", keeps: false);
            Task<ItemOutcome<int, int>[]> run = Start(scenario, team);
            Exception? late = await Record.ExceptionAsync(() => run.EndsAsync($"A run after a fault at place {at}"));
            _gate.Open();
            string passed = string.Join(", ", _places.Select(static place => $"{place.Key} {place.Value}"));
            Assert.True(late is null, $"{late?.Message} Passed: {passed}");
            bool failed = Volatile.Read(ref _countdown) <= 0;
            if (!failed)
            {
                most = at;
            }

            if (run.IsCompletedSuccessfully)
            {
                ItemOutcome<int, int>[] outcomes = await run;
                Assert.Equal(8, outcomes.Length);
                Assert.All(outcomes, (outcome, x) => Assert.True(!outcome.IsSuccess || outcome.Value == x));
            }
            else
            {
                Assert.True(failed || scenario is Scenario.Cancelled or Scenario.Aborted, run.Exception?.ToString());
            }
        }

        // The others go on.
        _pump = null;
        TestRun<int, int> other = new TestRun<int, int>(
            SourceOf.Enumerable([1, 2, 3]), static (x, _) => new ValueTask<int>(x), new PumpSettings { Limit = 2, ErrorMode = ErrorMode.FailFast }).Start();
        Assert.Equal([1, 2, 3], await other.Task.WithinAsync());
    }

    [Fact(Timeout = 300_000)]
    public async Task Places_OfTheSources_AreThoseThatAreTested()
    {
        // A caller is above the start. The others fail in tests of their own: WakeFaultTests, ListenerDetectorTests, LiveEventsTests, ParkedRaceTests, and RunFaultTests of the
        // operators.
        string[] elsewhere = ["Pump.Start", "PumpWorker.Park", "DelayQueue.Wake", "Pump.Release", "PumpWorker.Share", "PumpWorker.ShareIfStuck"];
        _countdown = int.MaxValue;
        Assert.Empty(await FaultPlaces.MissedAsync(FaultPlaces.InSources("Weir.Core", Elsewhere).Except(elsewhere), _places, async () =>
        {
            foreach (Scenario scenario in Enum.GetValues<Scenario>())
            {
                using ThreadTeam team = new(2, "test", keeps: false);
                Task run = Start(scenario, team);
                await Guard.SettleAsync();
                _gate.Open();
                await run.EndsAsync($"{scenario}");
            }
        }));
    }

    private void AtPlace(string place, object owner)
    {
        // A caller is above the start.
        if (ReferenceEquals(owner, _pump) && place != "Pump.Start")
        {
            _places.AddOrUpdate(place, 1, static (_, count) => count + 1);
            int left = Interlocked.Decrement(ref _countdown);
            if (left == 0 || (_again && left == -1))
            {
                throw new InsufficientMemoryException(place);
            }
        }
    }

    private Task<ItemOutcome<int, int>[]> Start(Scenario scenario, ThreadTeam team)
    {
        bool parks = scenario is Scenario.Parked or Scenario.ParkedAndTimed or Scenario.FailingParked or Scenario.Aborted;
        bool timed = scenario is Scenario.ParkedAndTimed or Scenario.WaitingAndTimed or Scenario.BlockingAndTimed;

        // A gate for each run. One that is closed again for the next run may close before those who waited in the last one have seen it open.
        _gate = new Gate();
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = OutcomeRun.Make(
            8,
            CallOf(scenario, _gate),
            new PumpSettings
            {
                Limit = parks ? 8 : 3,
                ErrorMode = ErrorMode.BestEffort,
                PerItemTimeout = timed ? Short : null,
                Guarded = scenario == Scenario.Aborted,
                Executor = scenario == Scenario.OwnThreads ? team : PoolExecutor.Instance,
            },
            scenario == Scenario.Retried
                ? new ScriptedRecovery(static call => call.Attempt < 2 ? Decision<int>.Retry(TimeSpan.FromMilliseconds(1)) : Decision<int>.Fails)
                : null);
        _pump = pump;
        CancellationTokenSource? stop = scenario == Scenario.Cancelled ? new CancellationTokenSource(Short, TimeProvider.System) : null;
        pump.Start(1, stop?.Token ?? default);
        if (scenario == Scenario.Aborted)
        {
            ITimer? timer = null;
            timer = TimeProvider.System.CreateTimer(
                _ =>
                {
                    timer?.Dispose();
                    Unattended.Run(pump, static pump => pump.Abort(ItemStatus.Cancelled, null));
                },
                null,
                Short,
                Timeout.InfiniteTimeSpan);
        }

        return task;
    }

    private static Func<int, CancellationToken, ValueTask<int>> CallOf(Scenario scenario, Gate gate) => scenario switch
    {
        Scenario.Parked or Scenario.Waiting or Scenario.OwnThreads => static async (x, _) =>
        {
            await Task.Yield();
            return x;
        },
        Scenario.ParkedAndTimed or Scenario.WaitingAndTimed => static async (x, _) =>
        {
            // Half of them look at no token, and never end.
            await (x % 2 == 0 ? new TaskCompletionSource().Task : Task.Delay(TimeSpan.FromMilliseconds(1), TimeProvider.System, CancellationToken.None));
            return x;
        },
        Scenario.BlockingAndTimed => (x, _) =>
        {
            if (x == 1)
            {
                gate.Wait(CancellationToken.None);
            }

            return new ValueTask<int>(x);
        },
        Scenario.Cancelled => static async (x, token) =>
        {
            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            return x;
        },
        Scenario.Aborted => static async (x, _) =>
        {
            await new TaskCompletionSource().Task;
            return x;
        },
        _ => static async (x, _) =>
        {
            await Task.Yield();
            return x % 2 == 0 ? throw new TestException("item") : x;
        },
    };
}
#endif
