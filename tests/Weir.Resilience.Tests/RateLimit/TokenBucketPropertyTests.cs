using FsCheck;
using FsCheck.Fluent;

namespace Weir.Resilience.Tests.RateLimit;

public class TokenBucketPropertyTests
{
    private static readonly Gen<RateLimitOptions> Options =
        from rate in Gen.Elements(0.5, 3, 100, 999, 1_000, 33_333, 1_000_000)
        from cost in Gen.Elements(0.25, 1, 1, 2.5)
        from burst in Gen.Elements(0, 0, 0.5, 1, 7, 99)
        select new RateLimitOptions { TokensPerSecond = rate, TokensPerOperation = cost, BurstCapacity = cost + burst };

    /// <summary>What a step of a plan does.</summary>
    private enum Kind
    {
        /// <summary>The clock moves, by hundredths of the time of one call.</summary>
        Move,

        /// <summary>Some calls ask, and wait.</summary>
        Wait,

        /// <summary>Some calls ask, and do not wait.</summary>
        Try,

        /// <summary>One that waits is cancelled.</summary>
        Cancel,
    }

    private static readonly Gen<(Kind Kind, int Size)> Steps = Gen.Frequency(
        (5, from size in Gen.Choose(1, 300) select (Kind.Move, size)),
        (1, from size in Gen.Choose(1_000, 20_000) select (Kind.Move, size)),
        (5, from size in Gen.Choose(1, 6) select (Kind.Wait, size)),
        (3, from size in Gen.Choose(1, 6) select (Kind.Try, size)),
        (2, from size in Gen.Choose(0, 100) select (Kind.Cancel, size)));

    private static readonly Gen<(RateLimitOptions Options, double Tick, (Kind Kind, int Size)[] Steps)> Cases =
        from options in Options
        from tick in Gen.Elements(0.0001, 4, 15.6)
        from size in Gen.Choose(1, 60)
        from steps in Gen.ArrayOf(Steps, size)
        select (options, tick, steps);

    [Fact(Timeout = 120_000)]
    public Task Calls_AnyPlanOnAnyTick_NoWindowHoldsMoreThanRateAndBurstAndAllAreServedInOrder() => Task.Run(() => Generated.ForAll(Cases, static c =>
    {
        using var run = new BucketRun(c.Options, Span.Ms(c.Tick));
        foreach ((Kind kind, int size) in c.Steps)
        {
            switch (kind)
            {
                case Kind.Move:
                    run.Move(TimeSpan.FromSeconds(size / 100.0 * c.Options.TokensPerOperation / c.Options.TokensPerSecond));
                    break;
                case Kind.Wait:
                    run.Wait(size);
                    break;
                case Kind.Try:
                    run.Try(size);
                    break;
                default:
                    run.Cancel(size);
                    break;
            }
        }

        run.ServeAll();
        Assert.True(run.Excess() < 1e-3, $"{run.Excess()} tokens too many.");
        long[] waited = [.. run.StartsOfThoseThatWaited];
        Assert.Equal(waited.Order(), waited);
        Assert.Equal(0, run.Waiting);

        // A delay tells of its end before its timer goes. One whose timer fires while the delay is being made may not dispose of it at all.
        Assert.True(SpinWait.SpinUntil(() => run.ArmedTimers == 0, TimeSpan.FromSeconds(60)), $"{run.ArmedTimers} timers are left behind.");
    }, cases: 300));

    // All times are whole milliseconds, which timers keep.
    private static readonly Gen<(RateLimitOptions Options, int[] Pauses)> ExactCases =
        from rate in Gen.Elements(0.5, 100, 250, 1_000)
        from cost in Gen.Elements(1, 2)
        from burst in Gen.Elements(0, 0, 1, 7, 99)
        from size in Gen.Choose(1, 100)
        from pauses in Gen.ArrayOf(Gen.Frequency((6, Gen.Constant(0)), (4, Gen.Choose(1, 3)), (1, Gen.Choose(10, 200))), size)
        select (new RateLimitOptions { TokensPerSecond = rate, TokensPerOperation = cost, BurstCapacity = cost + burst }, pauses);

    [Fact(Timeout = 120_000)]
    public Task WaitAsync_TimersThatAreNotLate_StartsAsSoonAsAPlainBucketAllows() => Task.Run(() => Generated.ForAll(ExactCases, static c =>
    {
        using var run = new BucketRun(c.Options, TimeSpan.FromTicks(1));
        List<double> expected = [];
        double level = c.Options.BurstCapacity;
        double last = run.Seconds;
        foreach (int pause in c.Pauses)
        {
            run.Move(Span.Ms(Math.Ceiling(pause * 1_000 / c.Options.TokensPerSecond)));

            // The plain bucket: as long as the last caller waits, the next one does; then for as many tokens as are missing.
            double now = Math.Max(run.Seconds, last);
            level = Math.Min(c.Options.BurstCapacity, level + (c.Options.TokensPerSecond * (now - last)));
            double wait = Math.Max(0, (c.Options.TokensPerOperation - level) / c.Options.TokensPerSecond);
            last = now + wait;
            level = Math.Max(level, c.Options.TokensPerOperation) - c.Options.TokensPerOperation;
            expected.Add(last);
            run.Wait(1);
        }

        run.ServeAll();
        Assert.All(run.StartsOfThoseThatWaited.Zip(expected),
            static both => Assert.InRange(both.First / (double)TimeSpan.TicksPerSecond, both.Second - 1e-6, both.Second + 1e-6));
    }, cases: 200));
}
