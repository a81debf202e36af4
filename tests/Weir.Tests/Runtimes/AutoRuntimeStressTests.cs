using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>Random work with random faults on an auto runtime: every item is accounted for exactly once, and what it is said to have done it did.</summary>
public class AutoRuntimeStressTests
{
    private enum Deed
    {
        Quick,
        Computes,
        Yields,
        Delays,
        Fails,
        FailsLater,
        Blocks,
    }

    [Theory(Timeout = 60_000)]
    [InlineData(1, false)]
    [InlineData(2, false)]
    [InlineData(3, true)]
    [InlineData(4, true)]
    public async Task ProcessMany_RandomPlans_AccountForEachItemOnce(int seed, bool stops)
    {
        Random random = new(seed);
        await using AutoRuntime runtime = new(maxConcurrencyPerCall: 1 + random.Next(60), maxThreads: 1 + random.Next(4));
        long ended = 0;
        for (int round = 0; round < 60; round++)
        {
            int count = 1 + random.Next(3000);
            Deed[] deeds = Plan(random, count);
            int[] started = new int[count];
            RunForm form = (RunForm)random.Next(3);
            bool hasKeys = form == RunForm.Array && random.Next(4) == 0;
            ProcessManyOptions options = new()
            {
                PerItemTimeout = random.Next(4) == 0 ? TimeSpan.FromSeconds(30) : null,
                TotalTimeout = stops && random.Next(2) == 0 ? TimeSpan.FromTicks(1 + random.Next(100_000)) : null,
            };
            ValueTask<int> Process(int x, CancellationToken token)
            {
                Interlocked.Increment(ref started[x]);
                return RunAsync(deeds[x], x);
            }

            ItemOutcome<int, int>[] outcomes = hasKeys
                ? await runtime.ProcessManyAsync(RuntimeRun.Count(count).PartitionBy(static x => x % 17), Process, options)
                : await RuntimeRun.AllAsync(form, runtime, RuntimeRun.Count(count), Process, options);
            for (int x = 0; x < count; x++)
            {
                ItemStatus status = outcomes[x].Status;
                Assert.True(started[x] <= 1, $"Item {x} of round {round} ran {started[x]} times.");
                Assert.True(status != ItemStatus.Succeeded || (started[x] == 1 && outcomes[x].Value == x), $"Item {x} of round {round}: {outcomes[x]}");
                Assert.True(status != ItemStatus.NotRun || started[x] == 0, $"Item {x} of round {round} ran, and its outcome says that it did not.");
                Assert.True(status != ItemStatus.Failed || deeds[x] is Deed.Fails or Deed.FailsLater, $"Item {x} of round {round}: {outcomes[x]}");
                ended += status == ItemStatus.NotRun ? 0 : 1;
            }

            if (options.TotalTimeout is null)
            {
                Assert.All(outcomes, (o, x) => Assert.Equal(deeds[x] is Deed.Fails or Deed.FailsLater ? ItemStatus.Failed : ItemStatus.Succeeded, o.Status));
            }

            RuntimeStatistics statistics = runtime.Statistics;
            Assert.Equal((ended, 0, 0), (statistics.Succeeded + statistics.Failed + statistics.Cancelled, statistics.ActiveCalls, statistics.InFlight));
        }
    }

    /// <summary>Stretches of one kind of item after the other, and some of other kinds in between, as chance will have it.</summary>
    private static Deed[] Plan(Random random, int count)
    {
        Deed[] deeds = new Deed[count];
        Deed kind = Deed.Quick;
        for (int i = 0; i < count; i++)
        {
            kind = random.Next(100) == 0 ? (Deed)random.Next((int)Deed.Blocks) : kind;
            int other = random.Next(400);
            deeds[i] = other == 0 ? Deed.Blocks : other < 8 ? (Deed)random.Next((int)Deed.Blocks) : kind == Deed.Delays ? Deed.Yields : kind;
        }

        return deeds;
    }

    private static ValueTask<int> RunAsync(Deed deed, int x)
    {
        switch (deed)
        {
            case Deed.Computes:
                Thread.SpinWait(100);
                return new ValueTask<int>(x);
            case Deed.Yields:
                return YieldAsync(x);
            case Deed.Delays:
                return DelayAsync(x);
            case Deed.Fails:
                throw new InvalidDataException($"item {x}");
            case Deed.FailsLater:
                return FailAsync(x);
            case Deed.Blocks:
                using (ManualResetEventSlim never = new())
                {
                    // Longer than two looks of the watch, now and then.
                    never.Wait(x % 7 == 0 ? 25 : 1);
                }

                return new ValueTask<int>(x);
            default:
                return new ValueTask<int>(x);
        }
    }

    private static async ValueTask<int> YieldAsync(int x)
    {
        await Task.Yield();
        return x;
    }

    private static async ValueTask<int> DelayAsync(int x)
    {
        await Task.Delay(TimeSpan.FromMilliseconds(1), TimeProvider.System);
        return x;
    }

    private static async ValueTask<int> FailAsync(int x)
    {
        await Task.Yield();
        throw new InvalidDataException($"item {x}");
    }
}
