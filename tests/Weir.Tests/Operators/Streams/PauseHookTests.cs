using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Streams;

/// <summary>Do OnThrottleAsync and OnDrainAsync tell the truth about reading, in pairs?</summary>
public class PauseHookTests
{
    private const int Window = 2 + 6;

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Hooks_ConsumerThatStandsTwice_AreCalledInTurn(OperatorFamily family, SourceKind kind)
    {
        ConcurrentQueue<string> seen = [];
        IAsyncEnumerator<int> stream = family.Open(TestSource.Of(kind, 60), Selectors.Twice, Options(seen)).GetAsyncEnumerator();
        Assert.True(await stream.MoveNextAsync().WithinAsync());

        // Whether it paused before the first result was taken, or only after, both is true.
        await Guard.UntilAsync(() => seen.LastOrDefault() == $"throttle {Window + 1}", "the pause");
        await Guard.SettleAsync();
        Assert.Equal($"throttle {Window + 1}", seen.Last());
        AssertInTurn([.. seen]);
        for (int i = 0; i < 30; i++)
        {
            Assert.True(await stream.MoveNextAsync().WithinAsync());
        }

        while (await stream.MoveNextAsync().WithinAsync())
        {
        }

        await stream.DisposeAsync();
        AssertInTurn([.. seen]);
        Assert.Contains(seen, static s => s.StartsWith("drain", StringComparison.Ordinal));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Hooks_SourceSmallerThanTheWindow_AreNotCalled(OperatorFamily family, SourceKind kind)
    {
        ConcurrentQueue<string> seen = [];
        IAsyncEnumerator<int> stream = family.Open(TestSource.Of(kind, Window - 1), Selectors.Twice, Options(seen)).GetAsyncEnumerator();
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        await Guard.SettleAsync();
        while (await stream.MoveNextAsync().WithinAsync())
        {
        }

        Assert.Empty(seen);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task OnDrain_ItemsGivenBackDuringAPause_AreNoReading(OperatorFamily family, SourceKind kind)
    {
        for (int round = 0; round < 4; round++)
        {
            ConcurrentQueue<string> seen = [];
            using Gate gate = new();
            int started = 0;
            IAsyncEnumerator<int> stream = family.Open(
                TestSource.Of(kind, 200),
                async (item, _) =>
                {
                    Interlocked.Increment(ref started);
                    if (item % 3 == 2)
                    {
                        await Task.Yield();
                    }

                    return item;
                },
                Options(seen) with { MaxDegreeOfParallelism = 4, ChannelCapacity = 40 }).GetAsyncEnumerator();
            Assert.True(await stream.MoveNextAsync().WithinAsync());
            await Guard.UntilAsync(() => Volatile.Read(ref started) >= 44, "a full window");
            await Guard.UntilAsync(() => !seen.IsEmpty, "the pause");
            await Guard.SettleAsync();
            Assert.Equal(["throttle 44"], seen);
            await stream.DisposeAsync().WithinAsync();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task OnThrottle_ThatTakesLong_HoldsUpNoResult(OperatorFamily family, SourceKind kind)
    {
        using Gate gate = new();
        IAsyncEnumerator<int> stream = family.Open(
            TestSource.Of(kind, 100),
            Selectors.Twice,
            new() { MaxDegreeOfParallelism = 2, ChannelCapacity = 6, OnThrottleAsync = async _ => await gate.WaitAsync() }).GetAsyncEnumerator();
        for (int i = 0; i < Window; i++)
        {
            Assert.True(await stream.MoveNextAsync().WithinAsync());
        }

        gate.Open();
        for (int i = Window; i < 100; i++)
        {
            Assert.True(await stream.MoveNextAsync().WithinAsync());
        }

        Assert.False(await stream.MoveNextAsync().WithinAsync());
    }

    public static PairwiseTheoryData<OperatorFamily, ErrorMode, bool> ThrowingHooks() => new(Cases.Streams, Cases.Modes, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(ThrowingHooks))]
    public async Task Hook_Throws_NeverHangsAndFailsAsAnItemWould(OperatorFamily family, ErrorMode mode, bool drain)
    {
        foreach (SourceKind kind in Cases.Few)
        {
            int calls = 0;
            int pauses = 0;
            Func<int, ValueTask> hook = async _ =>
            {
                Interlocked.Increment(ref calls);
                await Task.Yield();
                throw new TestException("hook");
            };
            ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, ChannelCapacity = 2, ErrorMode = mode };
            options = !drain ? options with { OnThrottleAsync = hook } : options with
            {
                OnDrainAsync = hook,
                OnThrottleAsync = _ =>
                {
                    Interlocked.Increment(ref pauses);
                    return default;
                },
            };
            List<int> results = [];
            Task consuming = ConsumeAsync(
                family.Open(TestSource.Of(kind, 500), Selectors.Twice, options),
                results,
                () => Volatile.Read(ref calls) > 0,
                () => !drain || Volatile.Read(ref pauses) > 0);
            switch (mode)
            {
                case ErrorMode.FailFast:
                    Assert.Equal("hook", (await Assert.ThrowsAsync<TestException>(() => consuming.WithinAsync())).Message);
                    break;
                case ErrorMode.CollectAndContinue:
                    ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => consuming.WithinAsync());
                    Assert.All(e.Failures, static f => Assert.Equal(-1, f.Index));
                    Assert.Equal(500, results.Count);
                    break;
                default:
                    await consuming.WithinAsync();
                    Assert.Equal(500, results.Count);
                    break;
            }
        }
    }

    private static async Task ConsumeAsync(IAsyncEnumerable<int> stream, List<int> results, Func<bool> called, Func<bool> paused)
    {
        await foreach (int item in stream)
        {
            results.Add(item);
            switch (results.Count)
            {
                case 1:
                    // Before it has paused there is nothing to go on with.
                    await Guard.UntilAsync(paused, "the pause");
                    break;
                case 5:
                    await Guard.UntilAsync(called, "the hook");
                    break;
            }
        }
    }

    private static ParallelRunOptions Options(ConcurrentQueue<string> seen) => new()
    {
        MaxDegreeOfParallelism = 2,
        ChannelCapacity = 6,
        OnThrottleAsync = async read =>
        {
            seen.Enqueue($"throttle {read}");
            await Task.Yield();
        },
        OnDrainAsync = read =>
        {
            seen.Enqueue($"drain {read}");
            return default;
        },
    };

    private static void AssertInTurn(string[] seen)
    {
        for (int i = 0; i < seen.Length; i++)
        {
            Assert.StartsWith(i % 2 == 0 ? "throttle" : "drain", seen[i], StringComparison.Ordinal);
        }
    }
}
