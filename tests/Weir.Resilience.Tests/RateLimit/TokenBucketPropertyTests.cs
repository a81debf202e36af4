using FsCheck;
using FsCheck.Fluent;
using Weir.TestKit;

namespace Weir.Resilience.Tests.RateLimit;

public class TokenBucketPropertyTests
{
    private static readonly Gen<RateLimitOptions> Options =
        from rate in Gen.Elements(0.5, 3, 100, 999, 1_000, 33_333, 1_000_000)
        from cost in Gen.Elements(0.25, 1, 1, 2.5)
        from burst in Gen.Elements(0, 0, 0.5, 1, 7, 99)
        select new RateLimitOptions { TokensPerSecond = rate, TokensPerOperation = cost, BurstCapacity = cost + burst };

    // Pauses in hundredths of the time of one token, so that every rate meets waiting, bursts and idling. Negative: cancel that one.
    private static readonly Gen<int> Steps = Gen.Frequency(
        (6, Gen.Constant(0)), (4, Gen.Choose(1, 300)), (1, Gen.Choose(1_000, 20_000)), (1, Gen.Choose(-200, -1)));

    private static readonly Gen<(RateLimitOptions Options, int[] Steps)> Cases =
        from options in Options
        from size in Gen.Choose(1, 150)
        from steps in Gen.ArrayOf(Steps, size)
        select (options, steps);

    [Fact]
    public void Reserve_AnyPlan_NoWindowHoldsMoreThanRateAndBurstAndOrderIsKept() => Check.ForAll(Cases, static c =>
    {
        List<Granted> granted = Run(c.Options, c.Steps);
        double[] starts = [.. granted.Where(static g => !g.Cancelled).Select(static g => g.Start)];
        for (int first = 0; first < starts.Length; first++)
        {
            for (int last = first; last < starts.Length; last++)
            {
                Assert.True(last == first || starts[last] >= starts[last - 1] - 1e-7, "A later caller was let in before an earlier one.");
                double tokens = (last - first + 1) * c.Options.TokensPerOperation;
                double allowed = (c.Options.TokensPerSecond * (starts[last] - starts[first] + 2e-7)) + c.Options.BurstCapacity;
                Assert.True(tokens <= allowed + 1e-6, $"{tokens} tokens in {starts[last] - starts[first]} s; {allowed} are allowed.");
            }
        }
    }, cases: 600);

    [Fact]
    public void Reserve_NothingCancelled_IsAsSoonAsAPlainBucketAllows() => Check.ForAll(Cases, static c =>
    {
        double level = c.Options.BurstCapacity;
        double last = 0;
        foreach (Granted granted in Run(c.Options, [.. c.Steps.Where(static s => s >= 0)]))
        {
            // The plain bucket: as long as the last caller waits, the next one does; then for as many tokens as are missing.
            double now = Math.Max(granted.Asked, last);
            level = Math.Min(c.Options.BurstCapacity, level + (c.Options.TokensPerSecond * (now - last)));
            double wait = Math.Max(0, (c.Options.TokensPerOperation - level) / c.Options.TokensPerSecond);
            last = now + wait;
            level = Math.Max(level, c.Options.TokensPerOperation) - c.Options.TokensPerOperation;
            Assert.InRange(granted.Start, last - 1e-6, last + 1e-6);
        }
    }, cases: 600);

    // Rates at which calls do not all look at the clock. Steps: advance by so many ticks; enter so many times, without waiting; or reserve.
    private static readonly Gen<(RateLimitOptions Options, (int Kind, int Size)[] Steps)> QuickCases =
        from rate in Gen.Elements(1e6, 7e6, 1e9)
        from burst in Gen.Elements(4_200, 10_000, 150_000)
        from size in Gen.Choose(1, 60)
        from steps in Gen.ArrayOf(
            Gen.Frequency(
                (4, from ticks in Gen.Choose(1, 3_000) select (0, ticks)),
                (5, from times in Gen.Choose(1, 3_000) select (1, times)),
                (2, Gen.Constant((2, 1)))),
            size)
        select (new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst }, steps);

    [Fact]
    public void TryEnter_ManyThatDoNotLookAtTheClock_NoWindowHoldsMoreThanRateAndBurst() => Check.ForAll(QuickCases, static c =>
    {
        var clock = new ManualTimeProvider();
        var bucket = new TokenBucket(c.Options with { TimeProvider = clock });
        List<(double Start, int Calls)> granted = [];
        foreach ((int kind, int size) in c.Steps)
        {
            switch (kind)
            {
                case 0:
                    clock.Advance(TimeSpan.FromTicks(size));
                    break;
                case 1:
                    int entered = 0;
                    while (entered < size && bucket.TryEnter())
                    {
                        entered++;
                    }

                    if (entered > 0)
                    {
                        granted.Add((Seconds(clock), entered));
                    }

                    break;
                default:
                    granted.Add((Seconds(clock) + bucket.Reserve().Delay.TotalSeconds, 1));
                    break;
            }
        }

        for (int first = 0; first < granted.Count; first++)
        {
            long calls = 0;
            for (int last = first; last < granted.Count; last++)
            {
                Assert.True(last == first || granted[last].Start >= granted[last - 1].Start - 1e-7, "A later caller was let in before an earlier one.");
                calls += granted[last].Calls;
                double allowed = (c.Options.TokensPerSecond * (granted[last].Start - granted[first].Start + 2e-7)) + c.Options.BurstCapacity;
                Assert.True(calls <= allowed + 1e-3, $"{calls} calls in {granted[last].Start - granted[first].Start} s; {allowed} are allowed.");
            }
        }
    }, cases: 300);

    [Fact]
    public void TryEnter_AfterAnyNumberOfCallsAndAPause_HasAllButAMillisecondsWorthOfTheBurst() => Check.ForAll(
        from burst in Gen.Elements(4_200, 10_000, 150_000)
        from before in Gen.Choose(0, 5_000)
        select (burst, before),
        static c =>
        {
            var clock = new ManualTimeProvider();
            var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 1e6, BurstCapacity = c.burst, TimeProvider = clock });
            for (int i = 0; i < c.before; i++)
            {
                bucket.TryEnter();
            }

            clock.Advance(TimeSpan.FromMinutes(1));
            int entered = 0;
            while (bucket.TryEnter())
            {
                entered++;
            }

            Assert.InRange(entered, c.burst - Math.Min(1024, c.burst / 64) - 1, c.burst);
        },
        cases: 60);

    private static List<Granted> Run(RateLimitOptions options, int[] steps)
    {
        var clock = new ManualTimeProvider();
        var bucket = new TokenBucket(options with { TimeProvider = clock });
        List<Granted> granted = [];
        foreach (int step in steps)
        {
            if (step < 0)
            {
                int pick = -step - 1;
                if (pick < granted.Count && !granted[pick].Cancelled && granted[pick].Start > Seconds(clock))
                {
                    granted[pick].Cancelled = true;
                    bucket.Cancel(granted[pick].Reservation);
                }

                continue;
            }

            clock.Advance(TimeSpan.FromSeconds(step / 100.0 / options.TokensPerSecond));
            RateReservation reservation = bucket.Reserve();
            granted.Add(new Granted(reservation, Seconds(clock), Seconds(clock) + reservation.Delay.TotalSeconds));
        }

        return granted;
    }

    private static double Seconds(ManualTimeProvider clock) => clock.GetTimestamp() / (double)TimeSpan.TicksPerSecond;

    private sealed record Granted(RateReservation Reservation, double Asked, double Start)
    {
        public bool Cancelled { get; set; }
    }
}
