using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Runtimes;

namespace Weir.Tests.Unused;

/// <summary>A range of an auto runtime whose item is given up: each interleaving of the end of its call, of the worker and of whoever gives it up.</summary>
public sealed class AutoRangeLateResultTests : IDisposable
{
    private readonly ThreadTeam _team = new(1, "test", keeps: false);
    private readonly TaskCompletionSource<Resource> _pending = new();
    private readonly Resource _late = new(0);
    private ItemRange<int, Resource> _range = null!;
    private Action _inside = static () => { };

    public void Dispose() => _team.Dispose();

    [Theory]
    [InlineData(1, 0)]
    [InlineData(8, 0)]
    [InlineData(8, 3)]
    [InlineData(8, 7)]
    public async Task GivenUpInsideTheCall_ThatReturnsItsResult_DisposesOfItOnce(int count, int at)
    {
        Make(count, at, suspends: false);
        _inside = GiveUp;
        _range.Run(CancellationToken.None).GetResult();
        await _late.DisposedOnceAsync();
    }

    [Theory]
    [InlineData(1, 0)]
    [InlineData(8, 3)]
    public async Task GivenUpInsideTheCall_ThatThenSuspends_DisposesOfItsResultOnce(int count, int at)
    {
        Make(count, at, suspends: true);
        _inside = GiveUp;
        RangePending pending = _range.Run(CancellationToken.None);
        _pending.SetResult(_late);
        pending.GetResult();
        await _late.DisposedOnceAsync();
    }

    [Theory]
    [InlineData(1, 0, true)]
    [InlineData(8, 3, true)]
    [InlineData(1, 0, false)]
    [InlineData(8, 3, false)]
    public async Task GivenUpWhileItIsSuspended_BeforeOrAfterItsResultIsTaken_DisposesOfItOnce(int count, int at, bool before)
    {
        Make(count, at, suspends: true);
        RangePending pending = _range.Run(CancellationToken.None);
        if (before)
        {
            GiveUp();
        }

        _pending.SetResult(_late);
        pending.GetResult();
        if (!before)
        {
            // The engine has already decided that the item timed out, and says so now.
            GiveUp();
        }

        await _late.DisposedOnceAsync();
    }

    [Fact]
    public async Task GivenUpAfterTheCall_RangeOfOneItem_DisposesOfItsResultOnce()
    {
        Make(1, 0, suspends: false);
        _range.Run(CancellationToken.None);
        GiveUp();
        await _late.DisposedOnceAsync();
    }

    [Fact]
    public async Task GivenUpBehindTheLastItem_ItsResultIsTheCallers()
    {
        Make(8, 7, suspends: false);
        _range.Run(CancellationToken.None);
        GiveUp();
        await Guard.SettleAsync();
        Assert.Equal(0, _late.Disposals);
    }

    private void GiveUp() => _range.GiveUp(ItemStatus.TimedOut, new TimeoutException());

    private void Make(int count, int at, bool suspends)
    {
        AutoProfile quick = new(new AutoSample { Items = 1000, Ticks = 100_000 }, 25, 64);
        AutoPilot pilot = new(new AutoExecutor(_team, 2), new AutoBudget(2, 100), 1_000_000, quick, oneByOne: false);
        AutoArrayCall<int, Resource> call = new(
            new OutcomeCompletion<Resource>(count),
            new RuntimeCalls(this),
            "ProcessManyAsync",
            ProcessManyOptions.Default,
            pilot,
            (x, _) =>
            {
                if (x != at)
                {
                    return new ValueTask<Resource>(new Resource(x));
                }

                _inside();
                return suspends ? new ValueTask<Resource>(_pending.Task) : new ValueTask<Resource>(_late);
            },
            new AutoProfiles(),
            static _ => { });
        call.Source = new RangeSource<int, Resource>(new WholeSource(count), call);
        PumpSettings settings = new() { Limit = 100, ErrorMode = ErrorMode.BestEffort, Guarded = true, Executor = pilot.Executor };
        call.Begin(PlainRun.MakeOfRanges(call.Source, call, settings), null, TimeProvider.System);
        Chunk<WorkRange> chunk = default;
        Assert.Equal(ClaimResult.Claimed, call.Source.TryClaim(ref chunk, 1, long.MaxValue));
        _range = Assert.IsType<ItemRange<int, Resource>>(chunk.Items[0]);
    }

    /// <summary>All items in one claim.</summary>
    private sealed class WholeSource(int count) : Source<int>
    {
        private bool _taken;

        public override int KnownCount => count;

        public override long NextIndex => _taken ? count : 0;

        protected override bool IsDrained => _taken;

        protected override ClaimResult TryClaimNext(ref Chunk<int> chunk, int max, long ceiling)
        {
            _taken = true;
            chunk.SetArray([.. Enumerable.Range(0, count)], 0, count, 0);
            return ClaimResult.Claimed;
        }
    }
}
