using System.Diagnostics;
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

    private static byte[]? s_kept;

    [Theory(Timeout = 60_000)]
    [InlineData(false, 1)]
    [InlineData(false, 4)]
    [InlineData(true, 1)]
    [InlineData(true, 4)]
    public async Task BytesPerOperation_OfShortOperations_AreTheirs(bool isAsync, int workers)
    {
        Assert.InRange(await BytesAsync(workers, null, isAsync ? Operation.OfAsync(static () => default(ValueTask)) : Operation.Of(static () => { })), 0, 0.5);
        Assert.InRange(
            await BytesAsync(workers, null, isAsync ? Operation.OfAsync(static () => Keep(Task.CompletedTask)) : Operation.Of(static () => Keep(1))), Array - 1,
            Array + 1);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(0, 1)]
    [InlineData(0, 4)]
    [InlineData(Array, 1)]
    [InlineData(Array, 4)]
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

    [Fact(Timeout = 60_000)]
    public async Task BytesPerOperation_OfLongWaits_AreThoseOfTheWaitWhateverTheWorkers()
    {
        using WaitThread waits = new(TimeSpan.FromMilliseconds(15));
        Operation operation = Operation.OfAsync(() => waits.WaitAsync());

        double one = await BytesAsync(1, null, operation);
        double four = await BytesAsync(4, null, operation);

        Assert.InRange(one, 50, 500);
        Assert.InRange(four, one - 64, one + 64);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task BytesPerOperation_WithARate_AreTheOperations(bool isAsync)
    {
        Operation operation = isAsync ? Operation.OfAsync(static () => Keep(Task.CompletedTask)) : Operation.Of(static () => Keep(1));

        Assert.InRange(await BytesAsync(2, 500, operation), Array - 64, Array + 64);
    }

    private static T Keep<T>(T value)
    {
        Volatile.Write(ref s_kept, new byte[1_000]);
        return value;
    }

    private static async Task<double> BytesAsync(int workers, double? rate, Operation operation)
    {
        WorkerRunSpec spec = new()
        {
            Workload = "test",
            Groups = [new WorkerGroup("all", workers)],
            RatePerSecond = rate,
            Rounds = 5,
            Duration = TimeSpan.FromMilliseconds(100),
            LongestWarmUp = TimeSpan.FromMilliseconds(100),
        };
        WorkerRun run = await new WorkerRunner(spec).RunAsync(new Workload("test", _ => operation)).WithinAsync("the run");

        // The median: a thread that the pool adds, or what the test runner does, is in some rounds.
        return run.Rounds.Select(static r => r.BytesPerOperation).Order().ElementAt(run.Rounds.Count / 2);
    }
}
