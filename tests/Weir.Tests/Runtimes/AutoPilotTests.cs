using System.Diagnostics;
using Weir.Core.Dispatch;
using Weir.Core.Threads;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>What an auto runtime chooses, told figures directly: no thread and no clock decides these tests.</summary>
public sealed class AutoPilotTests : IDisposable
{
    private static readonly long Microsecond = Stopwatch.Frequency / 1_000_000;
    private static readonly long Millisecond = Stopwatch.Frequency / 1000;

    private readonly ThreadTeam _team = new(1, "test", keeps: false);

    public void Dispose() => _team.Dispose();

    [Fact]
    public void Probe_ItemsCompute_ChoosesParallel()
    {
        AutoPilot pilot = Create();
        Run(pilot, 20, 10 * Microsecond);
        AutoDecision decision = Assert.Single(pilot.Decisions);
        Assert.Equal((AutoMode.Probe, AutoMode.Parallel, 4, 4), (decision.From, decision.To, decision.Threads, decision.InFlight));
        Assert.Contains("10 us in an item's call, 100 % of it computing, 0 % of the items suspend", Normal(decision.Reason), StringComparison.Ordinal);
    }

    [Fact]
    public void Probe_ItemsAreTinyOrFew_ChoosesDirect()
    {
        AutoPilot tiny = Create();
        tiny.RecordItems(100_000, 1, 1, suspended: false);
        Assert.Equal((AutoMode.Direct, 1, 1), State(tiny));

        AutoPilot few = Create(count: 20);
        Run(few, 19, Microsecond);
        Assert.Equal((AutoMode.Direct, 1, 1), State(few));
    }

    [Fact]
    public void Probe_OneThreadOnly_ChoosesDirect()
    {
        AutoPilot pilot = Create(threads: 1);
        Run(pilot, 20, 10 * Microsecond);
        Assert.Equal((AutoMode.Direct, 1, 1), State(pilot));
    }

    [Fact]
    public void Probe_FirstItemSuspends_ChoosesConcurrentAtOnce()
    {
        AutoPilot pilot = Create();
        pilot.RecordItems(1, Microsecond, Microsecond, suspended: true);
        Assert.Equal((AutoMode.Concurrent, 4, 25), State(pilot));
    }

    [Fact]
    public void Probe_SomeItemsSuspend_ChoosesMixed()
    {
        AutoPilot pilot = Create();
        Run(pilot, 5, 10 * Microsecond);
        pilot.RecordItems(1, 10 * Microsecond, -1, suspended: true);
        Assert.Equal((AutoMode.Mixed, 4, 25), State(pilot));
    }

    [Fact]
    public void Probe_ItemsHoldTheirThreadAndDoNotCompute_ChoosesBlocking()
    {
        if (!ThreadClock.IsKnown)
        {
            return;
        }

        AutoPilot pilot = Create();
        for (int i = 0; i < 20; i++)
        {
            pilot.RecordItems(1, 5 * Millisecond, 10 * Microsecond, suspended: false);
        }

        Assert.Equal((AutoMode.Blocking, 25, 25), State(pilot));
        Assert.True(pilot.Executor.UsesTeam);
    }

    [Fact]
    public void Tick_ItemsStuckWhileTheProcessIdles_ChoosesBlockingAndGrows()
    {
        AutoPilot pilot = Create();
        pilot.Tick(stuck: 2, cores: 0.01);
        Assert.Equal((AutoMode.Blocking, 25, 25), State(pilot));
        pilot.Tick(stuck: 25, cores: 0.01);
        pilot.Tick(stuck: 50, cores: 0.01);
        pilot.Tick(stuck: 100, cores: 0.01);
        Assert.Equal((AutoMode.Blocking, 100, 100), State(pilot));
    }

    [Fact]
    public void Tick_ItemsStuckWhileTheProcessComputes_ChangesNothing()
    {
        AutoPilot pilot = Create();
        pilot.Tick(stuck: 4, cores: 4);
        Assert.Empty(pilot.Decisions);
    }

    [Fact]
    public void Waited_NoBadSign_DoublesUpToTheBound()
    {
        AutoPilot pilot = Suspended(25);
        Assert.Equal(25, pilot.InFlight);
        Wait(pilot, 6, Millisecond);
        Assert.Equal(50, pilot.InFlight);
        Wait(pilot, 12, Millisecond);
        Assert.Equal(100, pilot.InFlight);
        Wait(pilot, 100, Millisecond);
        Assert.Equal(100, pilot.InFlight);
        Assert.Equal([25, 50, 100], pilot.Decisions.Select(static d => d.InFlight));
    }

    [Fact]
    public void Waited_LatencyDoubles_CutsAfterTwoBadWindowsAndClimbsSlowlyAgain()
    {
        AutoPilot pilot = Suspended(1000, most: 1000);
        Wait(pilot, 6, Millisecond);
        Wait(pilot, 12, Millisecond);
        Assert.Equal(100, pilot.InFlight);
        Wait(pilot, 25, 5 * Millisecond);
        Assert.Equal(100, pilot.InFlight);
        Wait(pilot, 25, 5 * Millisecond);
        Assert.Equal(70, pilot.InFlight);
        Assert.Contains("an item takes 5 ms instead of", pilot.Decisions[^1].Reason, StringComparison.Ordinal);

        // No more doubling after a bad sign.
        Wait(pilot, 70, Millisecond);
        Assert.Equal(77, pilot.InFlight);
    }

    [Fact]
    public void Waited_LatencyRisesWhileTheProcessIsBusyItself_CutsNothing()
    {
        AutoPilot pilot = Suspended(1000, most: 1000);
        Wait(pilot, 6, Millisecond);
        Wait(pilot, 12, Millisecond);
        pilot.Tick(0, Environment.ProcessorCount);
        Wait(pilot, 25, 5 * Millisecond);
        Wait(pilot, 50, 5 * Millisecond);
        Assert.True(pilot.InFlight >= 100, $"{pilot.InFlight}");
    }

    [Fact]
    public void Waited_ItemsStartToFail_CutsAndSaysWhy()
    {
        AutoPilot pilot = Suspended(1000, most: 1000);
        Wait(pilot, 6, Millisecond);
        Wait(pilot, 12, Millisecond);
        Wait(pilot, 50, Millisecond, failed: true);
        Assert.Equal(70, pilot.InFlight);
        Assert.Contains("of the items failed", pilot.Decisions[^1].Reason, StringComparison.Ordinal);
    }

    [Fact]
    public void Tick_AllWaitAndNothingEnds_DoublesAllTheSame()
    {
        AutoPilot pilot = Suspended(25);
        pilot.Tick(0, 0);
        Suspend(pilot, 25);
        pilot.Tick(0, 0);
        Suspend(pilot, 50);
        pilot.Tick(0, 0);
        pilot.Tick(0, 0);
        Assert.Equal(100, pilot.InFlight);
    }

    [Fact]
    public void Profile_NextCall_StartsWithWhatWasLearned()
    {
        AutoPilot first = Create();
        Run(first, 20, 10 * Microsecond);
        AutoPilot next = new(new AutoExecutor(_team, 4), new AutoBudget(4, 100), 1000, first.Profile);
        Assert.Equal((AutoMode.Parallel, 4, 4), State(next));
        Assert.Contains("as in an earlier call", next.Decisions[0].Reason, StringComparison.Ordinal);

        // A call of few items is another matter, whatever the mode was.
        AutoPilot small = new(new AutoExecutor(_team, 4), new AutoBudget(4, 100), 1, first.Profile);
        Assert.Equal((AutoMode.Direct, 1, 1), State(small));
    }

    [Fact]
    public void Budget_OtherCallsRun_SharesTheThreads()
    {
        AutoBudget budget = new(4, 100);
        budget.Enter();
        AutoPilot pilot = new(new AutoExecutor(_team, 4), budget, 100_000, null);
        Run(pilot, 20, 10 * Microsecond);
        Assert.Equal((AutoMode.Parallel, 4, 4), State(pilot));
        budget.Enter();
        pilot.Tick(0, 4);
        Assert.Equal((AutoMode.Parallel, 2, 2), State(pilot));
        Assert.Contains("2 calls running", pilot.Decisions[^1].Reason, StringComparison.Ordinal);
        budget.Leave();
        pilot.Tick(0, 4);
        Assert.Equal((AutoMode.Parallel, 4, 4), State(pilot));
    }

    /// <param name="quickest">Nanoseconds of an item in the quickest claim of the last look.</param>
    /// <param name="perItem">Nanoseconds of an item in all of them.</param>
    /// <param name="wasTiny">Whether the items were tiny before.</param>
    [Theory]
    [InlineData(5, 5, false, AutoMode.Direct)]
    [InlineData(5, 90, false, AutoMode.Direct)] // A collection of garbage held some up.
    [InlineData(5, 1_000, false, AutoMode.Parallel)] // Some are long.
    [InlineData(60, 60, false, AutoMode.Parallel)]
    [InlineData(60, 60, true, AutoMode.Direct)] // Memory that is touched for the first time holds all up.
    [InlineData(90, 90, true, AutoMode.Parallel)]
    public void Profile_QuickItems_AreTinyByTheirQuickestClaim(int quickest, int perItem, bool wasTiny, AutoMode expected)
    {
        AutoSample sample = new() { Items = 1_000_000, Ticks = perItem * Millisecond };
        sample.AddClaim(perItem * (Millisecond / 1e6));
        sample.AddClaim(quickest * (Millisecond / 1e6));
        AutoPilot pilot = new(
            new AutoExecutor(_team, 4), new AutoBudget(4, 100), 1_000_000, new AutoProfile(sample, 25, wasTiny));
        Assert.Equal(expected, pilot.Decisions[0].To);
    }

    [Fact]
    public void Profile_TinyItems_SaysSoToTheNextCall()
    {
        AutoPilot tiny = Create();
        tiny.RecordItems(100_000, 1, 1, suspended: false);
        Assert.True(tiny.Profile!.IsTiny);

        // Direct because there are few is another matter.
        AutoPilot few = Create(count: 20);
        Run(few, 19, Microsecond);
        Assert.False(few.Profile!.IsTiny);
    }

    [Fact]
    public void Decisions_Many_KeepTheFirstAndTheLatest()
    {
        AutoBudget budget = new(4, 100);
        AutoPilot pilot = new(new AutoExecutor(_team, 4), budget, 100_000, null);
        Run(pilot, 20, 10 * Microsecond);
        budget.Enter();
        for (int i = 0; i < 200; i++)
        {
            budget.Enter();
            pilot.Tick(0, 4);
            budget.Leave();
            pilot.Tick(0, 4);
        }

        Assert.Equal(64, pilot.Decisions.Count);
        Assert.Equal(AutoMode.Probe, pilot.Decisions[0].From);
        Assert.Equal(4, pilot.Decisions[^1].Threads);
    }

    private static (AutoMode Mode, int Threads, int InFlight) State(AutoPilot pilot)
    {
        AutoDecision last = pilot.Decisions[^1];
        return (last.To, last.Threads, last.InFlight);
    }

    private static string Normal(string text) => text.Replace('\u00a0', ' ');

    private static void Run(AutoPilot pilot, int items, long each)
    {
        for (int i = 0; i < items; i++)
        {
            pilot.RecordItems(1, each, each, suspended: false);
        }
    }

    private static void Wait(AutoPilot pilot, int items, long each, bool failed = false)
    {
        for (int i = 0; i < items; i++)
        {
            pilot.Waited(each, failed);
        }
    }

    private static void Suspend(AutoPilot pilot, int items)
    {
        for (int i = 0; i < items; i++)
        {
            pilot.RecordItems(1, Microsecond, -1, suspended: true);
        }
    }

    private AutoPilot Create(int count = 1_000_000, int threads = 4, int most = 100) =>
        new(new AutoExecutor(_team, threads), new AutoBudget(threads, most), count, null);

    private AutoPilot Suspended(int items, int most = 100)
    {
        AutoPilot pilot = Create(most: most);
        Suspend(pilot, items);
        return pilot;
    }
}
