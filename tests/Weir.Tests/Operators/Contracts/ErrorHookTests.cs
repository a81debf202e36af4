using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Is OnErrorAsync called once for each failure, and does its answer count?</summary>
public class ErrorHookTests
{
    private static readonly ErrorMode[] Continuing = [ErrorMode.CollectAndContinue, ErrorMode.BestEffort];

    public static PairwiseTheoryData<OperatorFamily, SourceKind, ErrorMode> ContinuingModes() => new(Cases.Families, Cases.Kinds, Continuing);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(ContinuingModes))]
    public async Task OnError_EachFailedItem_IsToldOnceWithItsIndex(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        ConcurrentQueue<(int Index, string Message)> hooked = [];
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 100),
            static (item, _) => (item % 10) switch
            {
                3 => Selectors.ThrowHere(item),
                6 => Selectors.ThrowHereAfterYield(item),
                _ => new(item),
            },
            new()
            {
                MaxDegreeOfParallelism = 4,
                ErrorMode = mode,
                OnErrorAsync = async (index, error) =>
                {
                    await Task.Yield();
                    hooked.Enqueue((index, error.Message));
                    return true;
                },
            });
        await running.EndsAsync();
        IEnumerable<int> expected = Enumerable.Range(0, 100).Where(static i => i % 10 is 3 or 6);
        Assert.Equal(expected.Select(static i => (i, $"item {i}")), hooked.Order());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(ContinuingModes))]
    public async Task OnError_AnswersFalse_StopsTheRun(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        TestSource source = TestSource.Of(kind, 1_000);
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        int hooks = 0;

        // The first to wait, whichever it is: an item that is given back may never begin, if all workers have claimed later ones.
        int failing = 0;
        Task<List<int>> running = family.RunAsync(
            source,
            async (item, token) =>
            {
                using (probe.Enter())
                {
                    if (item == 0)
                    {
                        return item;
                    }

                    if (Interlocked.CompareExchange(ref failing, item, 0) == 0)
                    {
                        await gate.WaitAsync();
                        throw new TestException("the first");
                    }

                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    return item;
                }
            },
            new()
            {
                MaxDegreeOfParallelism = 4,
                ErrorMode = mode,
                OnErrorAsync = (_, _) => new(Interlocked.Increment(ref hooks) < 0),
            });

        // The first item, which ends at once, may be inside for a while beside the next three.
        await probe.EnteredAsync(5);
        await probe.InsideAsync(4);
        gate.Open();
        if (mode == ErrorMode.BestEffort || family == OperatorFamily.Outcomes)
        {
            Assert.Equal([0], await running.WithinAsync());
        }
        else
        {
            ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
            Assert.Equal([failing], e.Failures.Select(static f => (int)f.Index));
            Assert.Equal([0], (e as ItemsFailedException<int>)?.Results ?? [0]);
        }

        Assert.Equal(1, hooks);
        Assert.Equal(5, probe.Entered);
        Assert.Equal(0, probe.Inside);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllModes))]
    public async Task OnError_Throws_NeverHangsAndCountsAsOneMoreFailure(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 2_000),
            static (item, _) => item % 100 == 50 ? Selectors.ThrowHere(item) : new(item),
            new()
            {
                MaxDegreeOfParallelism = 3,
                ErrorMode = mode,
                ChannelCapacity = 4,
                OnErrorAsync = static (index, _) => throw new TestException($"hook {index}"),
            });
        if (mode == ErrorMode.BestEffort || family == OperatorFamily.Outcomes)
        {
            Assert.Equal(1_980, (await running.WithinAsync()).Count);
        }
        else if (mode == ErrorMode.FailFast)
        {
            TestException e = await Assert.ThrowsAsync<TestException>(() => running.WithinAsync());
            Assert.StartsWith("item ", e.Message, StringComparison.Ordinal);
        }
        else
        {
            ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
            Assert.Equal(40, e.Failures.Count);
            Assert.All(e.Failures, static f => Assert.True(f.Error.Message == $"item {f.Index}" || f.Error.Message == $"hook {f.Index}"));
            Assert.Equal(20, e.Failures.Select(static f => f.Index).Distinct().Count());
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.FamiliesAndModes))]
    public async Task OnError_WaitsForItself_CountsAsInFlight(OperatorFamily family, ErrorMode mode)
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        int started = 0;
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 20),
            (item, _) =>
            {
                Interlocked.Increment(ref started);
                return Selectors.ThrowHere(item);
            },
            new()
            {
                MaxDegreeOfParallelism = 1,
                ErrorMode = mode,
                OnErrorAsync = async (_, _) =>
                {
                    using (probe.Enter())
                    {
                        await gate.WaitAsync();
                        return true;
                    }
                },
            });
        await probe.InsideAsync(1);
        await Guard.SettleAsync();
        Assert.Equal(1, Volatile.Read(ref started));
        Assert.False(running.IsCompleted);
        gate.Open();
        await running.EndsAsync();
        Assert.Equal(mode == ErrorMode.FailFast && family != OperatorFamily.Outcomes ? 1 : 20, started);
    }
}
