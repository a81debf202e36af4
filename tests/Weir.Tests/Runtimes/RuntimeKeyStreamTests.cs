using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Streams of items with keys: the promises of <see cref="RuntimeKeyTests"/>, with outcomes that come one by one.</summary>
public class RuntimeKeyStreamTests
{
    private static readonly string[] Several = ["concurrent 3", "concurrent 100", "parallel 2", "parallel 4", "auto 3", "auto 100"];

    public static TheoryData<string> Cases => RuntimeCases.Every();

    public static TheoryData<string> SeveralAtOnce => [.. Several];

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task KeySelector_ItemsOfAKey_RunOneAtATimeAndInOrder(string name)
    {
        const int count = 2000;
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach ((int keys, bool ordered) in new[] { (1, false), (7, true), (7, false), (500, true) })
        {
            int[] running = new int[keys];
            List<int>[] started = [.. RuntimeRun.Count(keys).Select(static _ => new List<int>())];
            IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
                RuntimeRun.Count(count).PartitionBy(x => x % keys),
                async (x, _) =>
                {
                    int key = x % keys;
                    Assert.Equal(1, Interlocked.Increment(ref running[key]));
                    started[key].Add(x);
                    if (x % 3 == 0)
                    {
                        await Task.Yield();
                    }

                    Assert.Equal(0, Interlocked.Decrement(ref running[key]));
                    return x * 2;
                },
                ordered);

            // Nothing runs before the first step, and each enumeration is a run of its own.
            Assert.All(started, Assert.Empty);
            for (int run = 0; run < 2; run++)
            {
                Array.ForEach(started, static list => list.Clear());
                List<(int Index, ItemOutcome<int, int> Outcome)> outcomes = await DrainAsync(stream);
                Assert.All(outcomes, static o => Assert.Equal(o.Index * 2, o.Outcome.Value));
                IEnumerable<int> indices = outcomes.Select(static o => o.Index);
                Assert.Equal(RuntimeRun.Count(count), ordered ? indices : indices.Order());
                Assert.All(started, (list, key) => Assert.Equal(RuntimeRun.Count(count).Where(x => x % keys == key), list));
            }
        }

        runtime.AssertIdle(4 * 2 * count, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(SeveralAtOnce))]
    public async Task KeySelector_HotKeyWaits_OtherKeysPassItWithinTheWindow(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using RuntimeGate hot = new();
        int cold = 0;
        TaskCompletionSource othersDone = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<List<(int Index, ItemOutcome<int, int> Outcome)>> drained = DrainAsync(runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(500).PartitionBy(static x => x % 10 != 9 ? -1 : x),
            (x, _) =>
            {
                if (x % 10 != 9)
                {
                    return hot.PassAsync(x);
                }

                if (Interlocked.Increment(ref cold) == 50)
                {
                    othersDone.SetResult();
                }

                return new ValueTask<int>(x);
            }));
        await othersDone.Task.WithinAsync("the items of other keys");
        await hot.ArrivedAsync(1).WithinAsync("an item of the hot key");
        Assert.Equal(1, hot.Arrived);
        hot.Open();
        Assert.Equal(RuntimeRun.Count(500), (await drained).Select(static o => o.Index).Order());
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task KeySelector_ThrowsOrGivesNull_EndsTheEnumerationWithThat(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        InvalidDataException own = new("no key");
        Assert.Same(own, await Assert.ThrowsAsync<InvalidDataException>(() => DrainAsync(runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(50).PartitionBy(x => x == 30 ? throw own : x), static (x, _) => new ValueTask<int>(x)))));
        InvalidOperationException noKey = await Assert.ThrowsAsync<InvalidOperationException>(() => DrainAsync(runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(50).PartitionBy(static x => x == 30 ? null! : "key"), static (x, _) => new ValueTask<int>(x), orderedOutput: true)));
        Assert.Equal("The key of the item at index 30 is null.", noKey.Message);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 0, InFlight: 0 }));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(SeveralAtOnce))]
    public async Task KeySelector_ConsumerLeavesEarly_EndsEverything(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        await foreach ((int _, ItemOutcome<int, int> _) in runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(500).PartitionBy(static x => x % 20),
            static async (x, token) =>
            {
                if (x > 0)
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                }

                return x;
            }))
        {
            break;
        }

        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 0, InFlight: 0 }));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Cases))]
    public async Task Arguments_Wrong_AreNamedAtTheCall(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int[] items = [1];
        Assert.Throws<ArgumentException>(() => { _ = runtime.ProcessManyStreamAsync(items.PartitionBatchesBy(static _ => 0), Selectors.Twice); });
        Assert.Throws<ArgumentNullException>(
            "items", () => { _ = runtime.ProcessManyStreamAsync((int[])null!, static (x, _) => new ValueTask<int>(x)); });
    }

    private static async Task<List<(int Index, ItemOutcome<int, int> Outcome)>> DrainAsync(IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream)
    {
        List<(int Index, ItemOutcome<int, int> Outcome)> all = [];
        await foreach ((int Index, ItemOutcome<int, int> Outcome) outcome in stream)
        {
            all.Add(outcome);
        }

        return all;
    }
}
