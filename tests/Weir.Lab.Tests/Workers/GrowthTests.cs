using System.Diagnostics;
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
        // At most 64 MB, however fast the machine is, and so much a call that few calls of a busy machine show it.
        const int Kept = 100_000;
        byte[][] kept = new byte[640][];
        Workload workload = new("keeping", _ => Operation.Of(() =>
        {
            byte[] bytes = new byte[Kept];
            long call = Interlocked.Increment(ref _calls);
            if (keeps)
            {
                kept[call % kept.Length] = bytes;
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
            Rounds = 2,
            Duration = TimeSpan.FromMilliseconds(100),
            LongestWarmUp = TimeSpan.Zero,
            MostRepeats = 0,
        };

        WorkerRun run = await new WorkerRunner(spec).RunAsync(workload).WithinAsync("the run");

        RunRemark[] growth = [.. run.Warnings.Where(static w => w.Cause == RunCause.Growth)];
        Assert.Equal(keeps ? 1 : 0, growth.Length);
        if (keeps && _calls < kept.Length)
        {
            // None has taken the place of an earlier one. What the process itself keeps, of code and of the runner, is not the calls'.
            const long Others = 1_000_000;
            Assert.InRange(run.HeapGrowth, (run.ExecutedBetweenHeaps * Kept) - Others, (run.ExecutedBetweenHeaps * Kept) + Others);
        }

        GC.KeepAlive(kept);
    }
}
