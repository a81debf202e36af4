using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Unused;

/// <summary>
/// Random runs with random ends: each result is the caller's or was disposed of, and never both, twice or neither. WEIR_STRESS=seconds runs longer, WEIR_SEED
/// sets another seed.
/// </summary>
public class ResultStressTests
{
    public static TheoryData<string> Forms => [.. ResultForm.All];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Forms))]
    public async Task Results_OfRandomRuns_AreTheCallersOrDisposedOfOnce(string form)
    {
        TimeSpan length = TimeSpan.FromSeconds(Number("WEIR_STRESS", 0));
        int seed = Number("WEIR_SEED", 4711);
        long start = TimeProvider.System.GetTimestamp();
        for (int round = 0; round < 4 || TimeProvider.System.GetElapsedTime(start) < length; round++)
        {
            await RunAsync(form, seed + round);
        }
    }

    private static async Task RunAsync(string form, int seed)
    {
        Random random = new(seed);
        ConcurrentQueue<Resource> made = [];
        int open = 0;
        int[] deeds = [.. Enumerable.Range(0, 30).Select(_ => random.Next(20))];
        int cancelsAt = random.Next(3) == 0 ? random.Next(60) : -1;
        using CancellationTokenSource caller = new();
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 1 + random.Next(40),
            ErrorMode = (ErrorMode)random.Next(3),
            PerItemTimeout = random.Next(3) > 0 ? TimeSpan.FromMilliseconds(1 + random.Next(5)) : null,
            AttemptTimeout = random.Next(4) == 0 ? TimeSpan.FromMilliseconds(1 + random.Next(5)) : null,
            MaxRetries = random.Next(3) == 0 ? 1 : 0,
            BaseDelay = TimeSpan.Zero,
            OnCompleteItemAsync = random.Next(4) == 0 ? index => index % 7 == 3 ? throw new TestException("hook") : default : null,
            ReturnOutcomesOnCancellation = random.Next(2) == 0,
            ChannelCapacity = 1 + random.Next(20),
            DisposeUnusedResults = true,
        };
        List<Resource> got = [];
        try
        {
            await ResultForm.RunAsync(
                form,
                deeds.Select(static (deed, index) => (Deed: deed, Index: index)).ToArray(),
                async (item, token) =>
                {
                    Interlocked.Increment(ref open);
                    try
                    {
                        await DoAsync(item.Deed);
                        if (item.Index == cancelsAt)
                        {
                            await caller.CancelAsync();
                        }

                        Resource resource = new(item.Index);
                        made.Enqueue(resource);
                        return resource;
                    }
                    finally
                    {
                        Interlocked.Decrement(ref open);
                    }
                },
                options,
                got,
                random.Next(3) == 0 ? 1 + random.Next(20) : int.MaxValue,
                caller.Token).WithinAsync($"run {seed}");
        }
        catch (Exception e) when (e is TestException or OperationCanceledException or ItemsFailedException)
        {
            // As planned.
        }

        HashSet<Resource> callers = [.. got];
        Assert.Equal(got.Count, callers.Count);
        await Guard.UntilAsync(
            () => Volatile.Read(ref open) == 0 && made.All(result => callers.Contains(result) || result.Disposals > 0),
            $"the disposals of run {seed} as {form}");
        await Guard.SettleAsync();
        Assert.All(made, result => Assert.Equal(callers.Contains(result) ? 0 : 1, result.Disposals));
    }

    private static async ValueTask DoAsync(int deed)
    {
        switch (deed)
        {
            case < 6:
                break;
            case < 12:
                await Task.Yield();
                break;
            case < 15:
                // Does not look at its token: its result may come at the very moment of its limit.
                await Task.Delay(TimeSpan.FromMilliseconds(deed - 11), TimeProvider.System);
                break;
            case < 17:
                Thread.SpinWait(200_000);
                break;
            case 17:
                // Blocks its thread, as calls of synchronous libraries do.
                Task.Delay(TimeSpan.FromMilliseconds(3), TimeProvider.System).Wait();
                break;
            case 18:
                throw new TestException("as planned");
            default:
                await Task.Yield();
                throw new TestException("as planned");
        }
    }

    private static int Number(string name, int otherwise) =>
        int.TryParse(Environment.GetEnvironmentVariable(name), System.Globalization.CultureInfo.InvariantCulture, out int number) ? number : otherwise;
}
