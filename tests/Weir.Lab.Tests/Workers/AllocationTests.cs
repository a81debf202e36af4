using System.Diagnostics;
using Weir.Lab.Statistics;
using Weir.Lab.Tests.Support;
using Weir.Lab.Work;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>The bytes of operations whose allocations are known. What the lab itself allocates, about a hundred kilobytes a window, is not theirs.</summary>
[Collection(AloneInTheProcess.Name)]
public class AllocationTests
{
    // An array of a thousand bytes with its header and length.
    private const int Array = 1_024;

    // More than a window allocates beside its operations, and less than these would by a byte for each: a round has hundreds of thousands of them.
    private const int Once = 32_768;

    private static byte[]? s_kept;

    [Theory(Timeout = 300_000)]
    [InlineData(false, 1)]
    [InlineData(false, 4, Explicit = true)]
    [InlineData(true, 1, Explicit = true)]
    [InlineData(true, 4)]
    public async Task BytesPerOperation_OfShortOperations_AreTheirs(bool isAsync, int workers)
    {
        // What is allocated once is in it, because nothing is warmed up, and a worker that is held up makes few operations: so not by the operation.
        Operation nothing = isAsync ? Operation.OfAsync(static () => default(ValueTask)) : Operation.Of(static () => { });
        Operation allocating = isAsync ? Operation.OfAsync(static () => Keep(Task.CompletedTask)) : Operation.Of(static () => Keep(1));

        Assert.InRange(await BeyondAsync(nothing, 0), -Once, Once);
        Assert.InRange(await BeyondAsync(allocating, Array), -Once, Once);

        async Task<double> BeyondAsync(Operation operation, int expected) =>
            Middle((await RunAsync(workers, null, operation, isWarm: false)).Rounds.Select(r => (r.BytesPerOperation - expected) * r.Executed));
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(0, 4)]
    [InlineData(Array, 1)]
    public async Task BytesPerOperation_OfTenOperationsInARound_AreTheirs(int expected, int workers)
    {
        Operation operation = Operation.Of(() =>
        {
            long start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromMilliseconds(10))
            {
                Thread.SpinWait(100);
            }

            if (expected > 0)
            {
                Keep(1);
            }
        });

        Assert.InRange(await BytesAsync(workers, null, operation), expected - 64, expected + 64);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task BytesPerOperation_OfLongWaits_AreThoseOfTheWaitWhateverTheWorkers()
    {
        // Few operations fit into a round, and a kilobyte more or less that the process allocates by itself is a lot for six waits. For six hundred it is not.
        const int atOnce = 100;
        using WaitThread waits = new(TimeSpan.FromMilliseconds(15));
        Operation operation = Operation.OfAsync(() => Task.WhenAll(Enumerable.Range(0, atOnce).Select(_ => waits.WaitAsync())));

        double one = await BytesAsync(1, null, operation) / atOnce;
        double four = await BytesAsync(4, null, operation) / atOnce;

        Assert.InRange(one, 50, 500);
        Assert.InRange(four, one - 64, one + 64);
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task BytesPerOperation_WithARate_AreTheOperations(bool isAsync)
    {
        Operation operation = isAsync ? Operation.OfAsync(static () => Keep(Task.CompletedTask)) : Operation.Of(static () => Keep(1));

        // Two thousand of them in a round: beside the bytes of so many, those of a thread that the pool adds do not count.
        Assert.InRange(await BytesAsync(2, 20_000, operation), Array - 64, Array + 64);
    }

    private static T Keep<T>(T value)
    {
        Volatile.Write(ref s_kept, new byte[1_000]);
        return value;
    }

    private static async Task<double> BytesAsync(int workers, double? rate, Operation operation) =>
        Middle((await RunAsync(workers, rate, operation, isWarm: true)).Rounds.Select(static r => r.BytesPerOperation));

    // A thread that the pool adds, or what the test runner does, is in some rounds.
    private static double Middle(IEnumerable<double> rounds) => Spread.Of(rounds).Median;

    private static async Task<WorkerRun> RunAsync(int workers, double? rate, Operation operation, bool isWarm)
    {
        WorkerRunSpec spec = new()
        {
            Workload = "test",
            Groups = [new WorkerGroup("all", workers)],
            RatePerSecond = rate,
            Rounds = isWarm ? 5 : 3,
            Duration = TimeSpan.FromMilliseconds(isWarm ? 100 : 50),
            LongestWarmUp = isWarm ? TimeSpan.FromMilliseconds(100) : TimeSpan.Zero,
            MostRepeats = 0,
            DrainLimit = TimeSpan.FromHours(1),
        };
        return await new WorkerRunner(spec).RunAsync(new Workload("test", _ => operation)).WithinAsync("the run");
    }
}
