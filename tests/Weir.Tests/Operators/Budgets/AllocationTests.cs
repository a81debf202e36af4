#if !DEBUG
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Budgets;

/// <summary>
/// How many bytes may a run allocate? Measured over the whole process and many runs, alone; of several rounds the least counts, because
/// anything else in the process can only add.
/// </summary>
[Collection(nameof(Alone))]
public class AllocationTests
{
    private static readonly ParallelRunOptions Eight = new() { MaxDegreeOfParallelism = 8 };

    private static readonly int[] Thousand = [.. Enumerable.Range(0, 1_000)];

    private static readonly int[] TenThousand = [.. Enumerable.Range(0, 10_000)];

    private static readonly int[] HundredThousand = [.. Enumerable.Range(0, 100_000)];

    private static readonly Func<int, CancellationToken, ValueTask<int>> Twice = Selectors.Twice;

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_ThousandSynchronousItems_IsTheResultAndLittleMore() =>
        await AssertAtMostAsync(ListBytes(1_000) + 1_032, 200, static () => Thousand.SelectParallelAsync(Twice, Eight));

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_HundredThousandSynchronousItems_IsTheResultAndLittleMore() =>
        await AssertAtMostAsync(ListBytes(100_000) + 3_072, 20, static () => HundredThousand.SelectParallelAsync(Twice, Eight));

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ForEach_HundredThousandSynchronousItems_IsNoBytePerItem() =>
        await AssertAtMostAsync(3_072, 20, static () => HundredThousand.ForEachParallelAsync(static (_, _) => default, Eight));

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_OneItem_IsOneSmallRun() =>
        await AssertAtMostAsync(ListBytes(1) + 1_072, 500, static () => new[] { 1 }.SelectParallelAsync(Twice, Eight));

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_ThreeItemsAndALimitOfAThousand_PaysForThreeWorkers() =>
        await AssertAtMostAsync(
            4 * 1_024,
            200,
            static () => new[] { 1, 2, 3 }.SelectParallelAsync(Selectors.TwiceAfterYield, new() { MaxDegreeOfParallelism = 1_000 }));

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1)]
    [InlineData(20)]
    [InlineData(100)]
    public async Task List_SuspendingItemsThatMayAllRun_CostsOneSmallRun(int count)
    {
        int[] items = [.. Enumerable.Range(0, count)];
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 100 };
        long alone = await BytesAsync(100, async () =>
        {
            foreach (int item in items)
            {
                await Selectors.TwiceAfterYield(item, default);
            }
        });

        // For each item a place to wait in, beside its own state machine and its result. Where the caller is held up, a second worker takes part.
        const int SecondWorker = 240;
        long plain = await AssertAtMostAsync(
            alone + ListBytes(count) + 1_000 + (16 * count) + SecondWorker, 200, () => items.SelectParallelAsync(Selectors.TwiceAfterYield, options));

        // A token and what it belongs to for each item; the rest once a run.
        ParallelRunOptions timed = options with { PerItemTimeout = TimeSpan.FromHours(1) };
        await AssertAtMostAsync(plain + (100 * count) + 500 + SecondWorker, 200, () => items.SelectParallelAsync(Selectors.TwiceAfterYield, timed));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_YieldingItems_AddNothingToTheSelectorsOwnStateMachine()
    {
        static async Task Loop()
        {
            foreach (int item in Thousand)
            {
                await Selectors.TwiceAfterYield(item, default);
            }
        }

        long alone = await BytesAsync(100, Loop);

        // Eight workers, each with its continuation and its rest of a chunk, but not one byte an item.
        await AssertAtMostAsync(
            alone + ListBytes(1_000) + 8_192, 100, static () => Thousand.SelectParallelAsync(Selectors.TwiceAfterYield, Eight));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_CallsOfOtherShapes_CostAnObjectARunAndNoByteAnItem()
    {
        // The wrapper, and a worker more or less; a task an item would be 72,000.
        const long few = 2_048;
        Task<int> done = Task.FromResult(1);
        Func<int, CancellationToken, Task<int>> task = (_, _) => done;
        Func<int, Task<int>> taskWithoutToken = _ => done;
        Func<int, ValueTask<int>> withoutToken = static x => new ValueTask<int>(x);
        Func<int, int> synchronous = static x => x;
        long plain = await BytesAsync(200, static () => Thousand.SelectParallelAsync(Twice, Eight));
        await AssertAtMostAsync(plain + few, 200, () => Thousand.SelectParallelAsync(task, Eight));
        await AssertAtMostAsync(plain + few, 200, () => Thousand.SelectParallelAsync(taskWithoutToken, Eight));
        await AssertAtMostAsync(plain + few, 200, () => Thousand.SelectParallelAsync(withoutToken, Eight));
        await AssertAtMostAsync(plain + few, 200, () => Thousand.SelectParallelAsync(synchronous, Eight));
        long each = await BytesAsync(200, static () => Thousand.ForEachParallelAsync(static (_, _) => default, Eight));
        await AssertAtMostAsync(each + few, 200, () => Thousand.ForEachParallelAsync((_, _) => done, Eight));
        await AssertAtMostAsync(each + few, 200, () => Thousand.ForEachParallelAsync(_ => done, Eight));
        await AssertAtMostAsync(each + few, 200, static () => Thousand.ForEachParallelAsync(static _ => { }, Eight));
    }

    // The token of the attempt, which the call may keep, and nothing else. One of the item, and a link between them, would be another 210.
    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_UnderAllPoliciesOfACall_IsATokenForEachAttempt()
    {
        ParallelRunOptions options = Eight with
        {
            PerItemTimeout = TimeSpan.FromMinutes(1),
            MaxRetries = 3,
            CircuitBreaker = new CircuitBreakerOptions(),
            RateLimit = new RateLimitOptions { TokensPerSecond = 1e9, BurstCapacity = 1e9 },
            AttemptTimeout = TimeSpan.FromMinutes(1),
        };
        await AssertAtMostAsync(ListBytes(10_000) + (56 * 10_000) + 16_384, 20, () => TenThousand.SelectParallelAsync(Twice, options));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_UnderASharedLimitThatIsFree_AddsNoBytePerItem()
    {
        ParallelRunOptions options = Eight with { ConcurrencyLimit = new SharedConcurrencyLimit(8) };
        await AssertAtMostAsync(ListBytes(10_000) + 8_192, 20, () => TenThousand.SelectParallelAsync(Twice, options));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stream_ThousandSynchronousItems_IsAFewKilobytes(bool ordered) =>
        await AssertAtMostAsync(4_096, 200, StreamOf(ordered));

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Stream_Ordered_CostsWhatUnorderedCosts()
    {
        long unordered = await BytesAsync(200, StreamOf(false));
        await AssertAtMostAsync((long)(unordered * 1.1) + 64, 200, StreamOf(true));
    }

    private static Func<Task> StreamOf(bool ordered)
    {
        ParallelRunOptions options = Eight with { OrderedOutput = ordered };
        return async () =>
        {
            await foreach (int _ in Thousand.SelectParallelStreamAsync(Twice, options))
            {
            }
        };
    }

    // The list object, its array and the array's header.
    private static long ListBytes(int count) => 32 + 24 + (count * sizeof(int));

    private static async Task<long> AssertAtMostAsync(long budget, int runs, Func<Task> run)
    {
        long bytes = await BytesAsync(runs, run, budget);
        TestContext.Current.TestOutputHelper?.WriteLine($"{bytes:N0} of {budget:N0} bytes");
        Assert.True(bytes <= budget, $"{bytes:N0} bytes a run, and the budget is {budget:N0}.");
        return bytes;
    }

    private static async Task<long> BytesAsync(int runs, Func<Task> run, long enough = long.MaxValue)
    {
        for (int i = 0; i < 50; i++)
        {
            await run();
        }

        // Many short rounds: where the machine is busy, there is one among them in which no thread was held up. The code that is optimised, and does not box,
        // may come late there: then more rounds, of one run each, as long as they are too much.
        long least = long.MaxValue;
        long started = TimeProvider.System.GetTimestamp();
        for (int round = 0; round < 140 || (least > enough && TimeProvider.System.GetElapsedTime(started) < TimeSpan.FromSeconds(20)); round++)
        {
            int inRound = round < 140 ? Math.Max(1, runs / 20) : 1;
            long before = GC.GetTotalAllocatedBytes(precise: true);
            for (int i = 0; i < inRound; i++)
            {
                await run().ConfigureAwait(false);
            }

            least = Math.Min(least, (GC.GetTotalAllocatedBytes(precise: true) - before) / inRound);
        }

        return least;
    }
}
#endif
