using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Policies;

/// <summary>A run whose limit is raised gives the places that it can use now to its items that wait for one.</summary>
public sealed class RaisedLimitTests : IDisposable
{
    private const int Items = 4;

    private readonly Gate _gate = new();
    private readonly ConcurrencyProbe _probe = new();
    private readonly RunControl _control = new() { MaxDegreeOfParallelism = 1 };

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public async Task MaxDegreeOfParallelism_Raised_ReachesItemsThatWaitForAPlace(bool adaptive, bool toOwnLimit)
    {
        SharedConcurrencyLimit shared = new(Items);
        Task run = RunAsync(new ParallelRunOptions
        {
            MaxDegreeOfParallelism = Items,
            ConcurrencyLimit = shared,
            Control = _control,
            AdaptiveConcurrency = adaptive
                ? new AdaptiveConcurrencyOptions { InitialConcurrency = Items, MaxConcurrency = Items, MinConcurrency = Items }
                : null,
        });
        await WaitForPlacesAsync(shared);
        _control.MaxDegreeOfParallelism = toOwnLimit ? null : Items;
        await AssertAllRunAsync(run);
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task MaxDegreeOfParallelism_RaisedStepByStep_LetsAsManyStart()
    {
        SharedConcurrencyLimit shared = new(Items);
        Task run = RunAsync(new ParallelRunOptions { MaxDegreeOfParallelism = Items, ConcurrencyLimit = shared, Control = _control });
        await WaitForPlacesAsync(shared);
        for (int most = 2; most <= Items; most++)
        {
            _control.MaxDegreeOfParallelism = most;
            await _probe.InsideAsync(most);
            await Guard.SettleAsync();
            Assert.Equal((most, most, Items - most), (_probe.Inside, shared.InUse, shared.Waiting));
        }

        await AssertAllRunAsync(run);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task MaxDegreeOfParallelism_Raised_ReachesItemsThatWaitForAPlaceOfTheirKey()
    {
        ConcurrencyLimits limits = ConcurrencyLimits.ByKey<int, int>(static item => item % 2, Items);
        using Gate others = new();
        ConcurrencyProbe held = new();
        Task other = Enumerable.Range(0, 2 * Items).ToArray().ForEachParallelAsync(
            async (_, _) =>
            {
                using (held.Enter())
                {
                    await others.WaitAsync();
                }
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2 * Items, ConcurrencyLimit = limits });
        await held.InsideAsync(2 * Items);
        Task run = RunAsync(new ParallelRunOptions { MaxDegreeOfParallelism = Items, ConcurrencyLimit = limits, Control = _control });
        await Guard.UntilAsync(() => _control.Snapshot().Waiting == Items, "all items in the queues");
        others.Open();
        await other.WithinAsync();
        await _probe.InsideAsync(1);
        await Guard.SettleAsync();
        _control.MaxDegreeOfParallelism = Items;
        await AssertAllRunAsync(run);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("concurrent 4")]
    [InlineData("parallel 4")]
    [InlineData("auto 4")]
    public async Task MaxDegreeOfParallelism_RaisedOfARuntimesCall_ReachesItemsThatWaitForAPlace(string name)
    {
        SharedConcurrencyLimit shared = new(Items);
        TakeAll(shared);
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Task run = runtime.ProcessManyAsync(
            Enumerable.Range(0, Items).ToArray(),
            CallAsync,
            new ProcessManyOptions { Control = _control, Policies = new ParallelRunOptions { ConcurrencyLimit = shared } });
        await WaitForPlacesAsync(shared);
        _control.MaxDegreeOfParallelism = Items;
        await AssertAllRunAsync(run);
    }

    private static void TakeAll(SharedConcurrencyLimit shared)
    {
        for (int i = 0; i < Items; i++)
        {
            Assert.True(shared.TryEnter());
        }
    }

    private async Task RunAsync(ParallelRunOptions options)
    {
        if (options.ConcurrencyLimit is SharedConcurrencyLimit shared)
        {
            TakeAll(shared);
        }

        await Enumerable.Range(0, Items).ToArray().SelectParallelAsync(CallAsync, options);
    }

    private async ValueTask<int> CallAsync(int item, CancellationToken token)
    {
        using (_probe.Enter())
        {
            await _gate.WaitAsync(token);
            return item;
        }
    }

    /// <summary>All items have come to the queue of the limit; one has a place, which is all that the run can use.</summary>
    private async Task WaitForPlacesAsync(SharedConcurrencyLimit shared)
    {
        await Guard.UntilAsync(() => shared.Waiting == Items, "all items in the queue");
        for (int i = 0; i < Items; i++)
        {
            shared.Leave();
        }

        await _probe.InsideAsync(1);
        await Guard.SettleAsync();
        Assert.Equal((1, Items - 1), (shared.InUse, shared.Waiting));
    }

    private async Task AssertAllRunAsync(Task run)
    {
        await _probe.InsideAsync(Items);
        _gate.Open();
        await run.WithinAsync("the run");
    }
}
