using System.Diagnostics;
using Weir.Lab.Suites.Checking;

namespace Weir.Lab.Suites.Ratios;

/// <summary>Measures the arms of a case interleaved, round by round, in one process.</summary>
/// <remarks>
/// Arms measured one after the other differ by what the machine did meanwhile. Interleaved, with the order rotated in each round, they
/// share it. The runs are awaited on the pool, as an application awaits them, so that no run pays for the wake-up of a blocked thread.
/// </remarks>
/// <param name="rounds">How many rounds; arms that take seconds take part in fewer.</param>
internal sealed class Sampler(int rounds)
{
    private const int FewestSamples = 3;
    private const int WarmRuns = 60;

    private static readonly TimeSpan SampleTime = TimeSpan.FromMilliseconds(40);
    private static readonly TimeSpan ShortestWarmUp = TimeSpan.FromMilliseconds(300);
    private static readonly TimeSpan LongestWarmUp = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan BudgetPerArm = TimeSpan.FromSeconds(6);

    public async Task<CaseResult> MeasureAsync(MeasuredCase measured)
    {
        Slot[] slots = new Slot[measured.Arms.Count];
        for (int i = 0; i < slots.Length; i++)
        {
            TimeSpan run = await WarmUpAsync(measured.Arms[i]);
            slots[i] = new Slot(measured.Arms[i], Runs(run), Math.Clamp((int)(BudgetPerArm / run), Math.Min(FewestSamples, rounds), rounds));
        }

        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < slots.Length; i++)
            {
                Slot slot = slots[(i + round) % slots.Length];
                if (IsDue(round, slot.Share))
                {
                    slot.Samples.Add(await SampleAsync(slot, round));
                }
            }
        }

        return new CaseResult(
            measured.Name,
            measured.Suite.N,
            [.. slots.Select(static slot => new ArmResult(slot.Arm.Name, slot.Arm.IsBaseline, slot.Samples))],
            measured.Goals);
    }

    /// <summary>Spreads an arm's share of samples evenly over the rounds, the first one included.</summary>
    internal bool IsDue(int round, int share) => round == 0 || round * share / rounds != (round - 1) * share / rounds;

    private static int Runs(TimeSpan run) => Math.Max(1, (int)Math.Ceiling(SampleTime / run));

    // Until the compiler has done with the arm: enough runs, enough time, and no longer getting faster.
    private static async Task<TimeSpan> WarmUpAsync(Arm arm)
    {
        TimeSpan total = TimeSpan.Zero;
        TimeSpan previous = TimeSpan.MaxValue;
        int done = 0;
        int runs = 1;
        while (true)
        {
            TimeSpan elapsed = await RunAsync(arm, runs);
            TimeSpan run = TimeSpan.FromTicks(Math.Max(1, elapsed.Ticks / runs));
            total += elapsed;
            done += runs;
            bool isSteady = run > previous * 0.9;
            if (total >= LongestWarmUp || (total >= ShortestWarmUp && done >= WarmRuns && isSteady))
            {
                return run;
            }

            previous = run;
            runs = Math.Min(Runs(run), runs * 4);
        }
    }

    private static async Task<Sample> SampleAsync(Slot slot, int round)
    {
        // One arm's garbage is not collected on another arm's time.
        GC.Collect();
        GC.WaitForPendingFinalizers();
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        TimeSpan elapsed = await RunAsync(slot.Arm, slot.Runs);
        cpu = Environment.CpuUsage.TotalTime - cpu;
        bytes = GC.GetTotalAllocatedBytes(precise: true) - bytes;
        return new Sample(round, elapsed.TotalNanoseconds / slot.Runs, (double)bytes / slot.Runs, cpu / elapsed);
    }

    private static async Task<TimeSpan> RunAsync(Arm arm, int runs)
    {
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; i < runs; i++)
        {
            await arm.RunAsync();
        }

        return Stopwatch.GetElapsedTime(start);
    }

    private sealed record Slot(Arm Arm, int Runs, int Share)
    {
        public List<Sample> Samples { get; } = [];
    }
}
