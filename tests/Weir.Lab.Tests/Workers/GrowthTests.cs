using System.Diagnostics;
using Weir.Lab.Latency;
using Weir.Lab.Tests.Support;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>Calls that keep memory. Alone, because what is reachable is the process's.</summary>
[Collection(AloneInTheProcess.Name)]
public class GrowthTests
{
    private long _calls;

    [Theory(Timeout = 300_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task RunAsync_CallsThatKeepMemory_AreNamedWithTheirBytes(bool keeps)
    {
        // At most 64 MB, however fast the machine is.
        const int Kept = 100_000;
        byte[][] kept = new byte[640][];
        Enough enough = new(() => Volatile.Read(ref _calls) >= 100);
        Workload workload = new("keeping", _ => Operation.Of(() =>
        {
            byte[] bytes = new byte[Kept];

            // From the first round on: a warm-up that is held up would have filled the array already, and then no call keeps more.
            if (enough.HasBegun)
            {
                long call = Interlocked.Increment(ref _calls);
                kept[call % kept.Length] = keeps ? bytes : [];
            }

            long start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromMilliseconds(1))
            {
            }

            return bytes.Length;
        }));
        WorkerRunSpec spec = new()
        {
            Workload = "test",
            Groups = [new WorkerGroup("all", 1)],
            Rounds = int.MaxValue,
            Duration = TimeSpan.FromMilliseconds(100),
            LongestWarmUp = TimeSpan.Zero,
            MostRepeats = 0,
            DrainLimit = TimeSpan.FromHours(1),
        };

        WorkerRun run = await new WorkerRunner(spec, enough).RunAsync(workload).WithinAsync("the run");

        RunRemark[] growth = [.. run.Warnings.Where(static w => w.Cause == RunCause.Growth)];
        Assert.Equal(keeps ? 1 : 0, growth.Length);
        if (keeps && _calls < kept.Length)
        {
            // None has taken the place of an earlier one. What the process itself keeps, of code and of the runner, is not the calls'.
            long others = 800_000 + (100_000L * run.Rounds.Count);
            Assert.InRange(run.HeapGrowth, (run.ExecutedBetweenHeaps * Kept) - others, (run.ExecutedBetweenHeaps * Kept) + others);
        }

        GC.KeepAlive(kept);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(null)]
    [InlineData(1000.0)]
    public async Task RunAsync_ManyRounds_AreNoGrowth(double? rate)
    {
        WorkerRunSpec spec = new()
        {
            Workload = "test",
            Rounds = 40,
            Duration = TimeSpan.FromMilliseconds(5),
            RatePerSecond = rate,
            LongestWarmUp = TimeSpan.Zero,
            MostRepeats = 0,
        };

        WorkerRun run = await new WorkerRunner(spec).RunAsync(new Workload("noop", static _ => Operation.Of(static () => { }))).WithinAsync("the run");

        // What is kept are the figures of the rounds, whatever else of the process went meanwhile.
        Assert.InRange(run.HeapGrowth, 20L * LatencyHistogram.Bytes, long.MaxValue);
        Assert.DoesNotContain(run.Warnings, static w => w.Cause == RunCause.Growth);
    }

    /// <summary>Two rounds, and more until there were enough calls: those of a worker that is held up in both of them keep too little to be named.</summary>
    private sealed class Enough(Func<bool> isEnough) : IRunObserver
    {
        private bool _hasBegun;

        public bool HasBegun => Volatile.Read(ref _hasBegun);

        public ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken) => new(round <= 2 || !isEnough());

        public void RoundStarted(int round, int rounds) => Volatile.Write(ref _hasBegun, true);
    }
}
