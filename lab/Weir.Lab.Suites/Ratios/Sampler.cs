using System.Diagnostics;
using Weir.Lab.Resources;
using Weir.Lab.Suites.Catalog;
using Weir.Lab.Suites.Checking;
using Weir.Lab.Suites.Figures;

namespace Weir.Lab.Suites.Ratios;

/// <summary>Measures the arms of a case interleaved, round by round, in one process.</summary>
/// <remarks>
/// Arms measured one after the other differ by what the machine did meanwhile. Interleaved, in an order that changes from round to round, they
/// share it. The runs are awaited on the pool, as an application awaits them, so that no run pays for the wake-up of a blocked thread.
/// </remarks>
/// <param name="rounds">How many rounds; arms that take seconds take part in fewer.</param>
/// <param name="stuck">Told at once of a run that was given up: the arm, and after what time.</param>
internal sealed class Sampler(int rounds, Action<Arm, TimeSpan>? stuck = null)
{
    /// <summary>How often an arm may stand still before it is not run any more, so that the whole ends.</summary>
    internal const int MostStuck = 5;

    private const int FewestSamples = 3;
    private const int WarmRuns = 60;

    private static readonly TimeSpan SampleTime = TimeSpan.FromMilliseconds(40);
    private static readonly TimeSpan ShortestWarmUp = TimeSpan.FromMilliseconds(300);
    private static readonly TimeSpan LongestWarmUp = TimeSpan.FromSeconds(1);

    // Code that was compiled a moment ago keeps one speed for half a second or so, and only then gets its last one.
    private static readonly TimeSpan ShortestFirstWarmUp = TimeSpan.FromSeconds(1.2);
    private static readonly TimeSpan LongestFirstWarmUp = TimeSpan.FromSeconds(2.5);
    private static readonly TimeSpan BudgetPerArm = TimeSpan.FromSeconds(6);

    /// <summary>Whether the case is the first one of its suite: its code has never run before.</summary>
    public bool IsFirst { get; init; }

    public async Task<CaseResult> MeasureAsync(MeasuredCase measured)
    {
        Slot[] slots = new Slot[measured.Arms.Count];
        for (int i = 0; i < slots.Length; i++)
        {
            slots[i] = new Slot(measured.Suite, measured.Arms[i]);
            TimeSpan run = await WarmUpAsync(slots[i]);
            slots[i].Runs = Runs(run);
            slots[i].Share = Math.Clamp((int)(BudgetPerArm / run), Math.Min(FewestSamples, rounds), rounds);
        }

        for (int round = 0; round < rounds; round++)
        {
            foreach (int index in Trials.TrialOrder.Of(slots.Length, round))
            {
                Slot slot = slots[index];
                if (IsDue(round, slot.Share) && await SampleAsync(slot, round) is { } sample)
                {
                    slot.Samples.Add(sample);
                }
            }
        }

        return new CaseResult(
            measured.Name,
            measured.Suite.N,
            [.. slots.Select(static slot => slot.Result())],
            measured.Goals);
    }

    /// <summary>Spreads an arm's share of samples evenly over the rounds, the first one included.</summary>
    internal bool IsDue(int round, int share) => round == 0 || round * share / rounds != (round - 1) * share / rounds;

    private static int Runs(TimeSpan run) => Math.Max(1, (int)Math.Ceiling(SampleTime / run));

    // Until the compiler has done with the arm: enough runs, enough time, and no longer getting faster.
    private async Task<TimeSpan> WarmUpAsync(Slot slot)
    {
        TimeSpan shortest = IsFirst ? ShortestFirstWarmUp : ShortestWarmUp;
        TimeSpan longest = IsFirst ? LongestFirstWarmUp : LongestWarmUp;
        TimeSpan total = TimeSpan.Zero;
        TimeSpan previous = TimeSpan.MaxValue;
        int done = 0;
        int runs = 1;
        while (true)
        {
            if (await RunAsync(slot, runs) is not { } reading)
            {
                if (slot.IsGivenUp)
                {
                    return LongestWarmUp;
                }

                continue;
            }

            TimeSpan run = TimeSpan.FromTicks(Math.Max(1, reading.Elapsed.Ticks / runs));
            total += reading.Elapsed;
            done += runs;
            bool isSteady = run > previous * 0.9;
            if (total >= longest || (total >= shortest && done >= WarmRuns && isSteady))
            {
                return run;
            }

            previous = run;
            runs = Math.Min(Runs(run), runs * 4);
        }
    }

    private async Task<Sample?> SampleAsync(Slot slot, int round)
    {
        // One arm's garbage is not collected on another arm's time.
        Heap.Collect();
        return await RunAsync(slot, slot.Runs) is { } reading
            ? new Sample(round, reading.Elapsed.TotalNanoseconds / slot.Runs, (double)reading.Bytes / slot.Runs, reading.Cpu / reading.Elapsed)
            : null;
    }

    /// <summary>Runs an arm some times, unless it is given up: then there is nothing to be read.</summary>
    private async Task<Reading?> RunAsync(Slot slot, int runs)
    {
        if (slot.IsGivenUp)
        {
            return null;
        }

        Attempt<Reading> attempt = new(slot.Suite.Patience, slot.Suite.Clock);
        _ = RunAsync(slot.Arm, runs, attempt);
        Reading? reading = await attempt.Outcome;
        if (reading is null)
        {
            slot.Stuck++;
            stuck?.Invoke(slot.Arm, slot.Suite.Patience);
        }

        return reading;
    }

    private static async Task RunAsync(Arm arm, int runs, Attempt<Reading> attempt)
    {
        try
        {
            long bytes = GC.GetTotalAllocatedBytes(precise: true);
            TimeSpan cpu = Environment.CpuUsage.TotalTime;
            long start = Stopwatch.GetTimestamp();
            for (int i = 0; i < runs; i++)
            {
                await arm.RunAsync();
                if (attempt.Outcome.IsCompleted)
                {
                    // Given up, and done after all: what it goes on with would be in the way of others.
                    return;
                }
            }

            TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
            cpu = Environment.CpuUsage.TotalTime - cpu;
            bytes = GC.GetTotalAllocatedBytes(precise: true) - bytes;
            attempt.Succeed(new Reading(elapsed, cpu, bytes));
        }
        catch (Exception exception)
        {
            attempt.Fail(exception);
        }
    }

    private readonly record struct Reading(TimeSpan Elapsed, TimeSpan Cpu, long Bytes);

    private sealed class Slot(Suite suite, Arm arm)
    {
        public Suite Suite { get; } = suite;

        public Arm Arm { get; } = arm;

        public List<Sample> Samples { get; } = [];

        public int Runs { get; set; }

        public int Share { get; set; }

        /// <summary>How many of its runs stood still.</summary>
        public int Stuck { get; set; }

        public bool IsGivenUp => Stuck >= MostStuck;

        public ArmResult Result() =>
            new(Arm.Name, Arm.IsBaseline, Samples) { Stuck = Stuck == 0 ? null : new StuckRuns(Stuck, Suite.Patience, Share) };
    }
}
