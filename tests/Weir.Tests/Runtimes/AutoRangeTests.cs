using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>The ranges of an auto runtime, with each interleaving of the worker and those who take items away made by hand.</summary>
public sealed class AutoRangeTests : IDisposable
{
    private const int Count = 8;

    private readonly ThreadTeam _team = new(1, "test", keeps: false);
    private readonly OutcomeCompletion<int> _completion = new(Count);
    private readonly List<int> _ran = [];
    private Action<int> _inside = static _ => { };
    private AutoCall<int, int> _call = null!;

    public void Dispose() => _team.Dispose();

    [Fact]
    public void ShareIfStuck_RangeNotStartedYet_LeavesItWhole()
    {
        ItemRange<int, int> range = Claim();
        Assert.False(range.ShareIfStuck(out bool first));
        Assert.False(range.ShareIfStuck(out bool second));
        Assert.False(first || second);
        range.Run(default).GetResult().End();
        Assert.Equal(RuntimeRun.Count(Count), _ran);
        Assert.Equal(RuntimeRun.Count(Count), _completion.Outcomes.Select(static o => o.Value));
    }

    [Fact]
    public void ShareIfStuck_ItemStandsStill_TakesWhatIsBehindItAndHandsOnWhatIsBefore()
    {
        ItemRange<int, int> range = Claim();
        _inside = x =>
        {
            if (x != 2)
            {
                return;
            }

            Assert.False(range.ShareIfStuck(out bool isStuck));
            Assert.False(isStuck);
            Assert.True(range.ShareIfStuck(out isStuck));
            Assert.True(isStuck);
            Assert.Equal(3, range.Count);
            Assert.Equal(2, _call.Sample().Succeeded);

            // The second time there is nothing left to take.
            Assert.False(range.ShareIfStuck(out isStuck));
            Assert.True(isStuck);
        };
        range.Run(default).GetResult().End();
        Assert.Equal([0, 1, 2], _ran);

        ItemRange<int, int> rest = Claim();
        Assert.Equal((3, 5), (rest.First, rest.Count));
        rest.Run(default).GetResult().End();
        Assert.Equal(RuntimeRun.Count(Count), _ran);
        Assert.Equal(RuntimeRun.Count(Count), _completion.Outcomes.Select(static o => o.Value));
        Assert.Equal(Count, _call.Sample().Succeeded);
    }

    [Fact]
    public void ShareIfStuck_ItemGoesOnMeanwhile_TakesNothing()
    {
        ItemRange<int, int> range = Claim();
        _inside = _ =>
        {
            // Looked at once in each item: it always is at another one.
            Assert.False(range.ShareIfStuck(out bool isStuck));
            Assert.False(isStuck);
        };
        range.Run(default).GetResult().End();
        Assert.Equal(RuntimeRun.Count(Count), _ran);
    }

    [Fact]
    public async Task GiveUp_InTheMiddle_KeepsWhatEndedAndRunsNothingMore()
    {
        ItemRange<int, int> range = Claim();
        TimeoutException error = new();
        _inside = x =>
        {
            if (x == 3)
            {
                range.GiveUp(ItemStatus.TimedOut, error);
            }
        };

        // The stray goes on to its end, and finds that nothing is left for it.
        range.Run(default).GetResult();
        Assert.Equal([0, 1, 2, 3], _ran);
        Assert.Equal((3, 1), (_call.Sample().Succeeded, _call.Sample().Unsuccessful));

        _call.Complete(new RunEnd(null, null, Count, []));
        ItemOutcome<int>[] outcomes = await _completion.Task;
        Assert.Equal([0, 1, 2], outcomes[..3].Select(static o => o.Value));
        Assert.Equal((ItemStatus.TimedOut, error), (outcomes[3].Status, outcomes[3].Error));
        Assert.All(outcomes[4..], RuntimeRun.AssertNotRun);
        ItemRange<int, int> rest = Claim();
        Assert.Equal((4, 4), (rest.First, rest.Count));
    }

    [Fact]
    public void GiveUp_AfterTheLastItem_GivesNothingUp()
    {
        ItemRange<int, int> range = Claim();
        _ = range.Run(default);
        range.GiveUp(ItemStatus.Cancelled, null);
        Assert.Equal((Count, 0), (_call.Sample().Succeeded, _call.Sample().Unsuccessful));
    }

    [Fact]
    public void Run_ItemSuspends_GivesBackWhatIsBehindIt()
    {
        TaskCompletionSource<int> waits = new();
        Make((x, _) => x == 1 ? new ValueTask<int>(waits.Task) : new ValueTask<int>(x));
        ItemRange<int, int> range = Claim();
        RangePending pending = range.Run(default);
        Assert.False(pending.IsCompleted);
        Assert.Equal(1, _call.Sample().Succeeded);
        ItemRange<int, int> rest = Claim();
        Assert.Equal((2, 6), (rest.First, rest.Count));
        waits.SetResult(1);
        Assert.True(pending.IsCompleted);
        pending.GetResult().End();
        rest.Run(default).GetResult().End();
        Assert.Equal(RuntimeRun.Count(Count), _completion.Outcomes.Select(static o => o.Value));
    }

    [Fact]
    public void Complete_PilotOutlivesTheCall_KeepsNothingOfItAlive()
    {
        (AutoPilot pilot, WeakReference call) = CompleteOne();
        GC.Collect();
        Assert.False(call.IsAlive);
        Assert.NotEmpty(pilot.Decisions);
    }

    // A method of its own, whose locals are gone for certain when it has returned.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private (AutoPilot Pilot, WeakReference Call) CompleteOne()
    {
        Claim().Run(default).GetResult().End();
        _call.Complete(new RunEnd(null, null, Count, []));
        (AutoPilot, WeakReference) kept = (_call.Pilot, new WeakReference(_call));
        _call = null!;
        return kept;
    }

    private void Make(Func<int, CancellationToken, ValueTask<int>> processor)
    {
        // A profile of quick items, so that one claim takes them all.
        AutoProfile quick = new(new AutoSample { Items = 1000, Ticks = 100_000 }, 25, 64);
        AutoPilot pilot = new(new AutoExecutor(_team, 2), new AutoBudget(2, 100), 1_000_000, quick, oneByOne: false);
        AutoArrayCall<int, int> call = new(
            _completion, new RuntimeCalls(this), "ProcessManyAsync", ProcessManyOptions.Default, pilot, processor, new AutoProfiles(), static _ => { });
        call.Source = new RangeSource<int, int>(new WholeSource(), call);
        Pump pump = PlainRun.MakeOfRanges(
            call.Source,
            call,
            new PumpSettings { Limit = 100, ErrorMode = ErrorMode.BestEffort, Guarded = true, Executor = pilot.Executor });
        call.Begin(pump, null, TimeProvider.System);
        _call = call;
    }

    private ItemRange<int, int> Claim()
    {
        if (_call is null)
        {
            Make((x, _) =>
            {
                _ran.Add(x);
                _inside(x);
                return new ValueTask<int>(x);
            });
        }

        Chunk<WorkRange> chunk = default;
        Assert.Equal(ClaimResult.Claimed, _call!.Source.TryClaim(ref chunk, 1, long.MaxValue));
        return Assert.IsType<ItemRange<int, int>>(chunk.Items[0]);
    }

    /// <summary>All items in one claim.</summary>
    private sealed class WholeSource : Source<int>
    {
        private bool _taken;

        public override int KnownCount => Count;

        public override long NextIndex => _taken ? Count : 0;

        protected override bool IsDrained => _taken;

        protected override ClaimResult TryClaimNext(ref Chunk<int> chunk, int max, long ceiling)
        {
            if (_taken)
            {
                return ClaimResult.Empty;
            }

            _taken = true;
            chunk.SetArray(RuntimeRun.Count(Count), 0, Count, 0);
            return ClaimResult.Claimed;
        }
    }
}
