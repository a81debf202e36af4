using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>What the adaptive limit reaches at servers of known capacity. Times are in mean service times of a call.</summary>
public class AdaptiveServerTests(ITestOutputHelper output)
{
    [Theory(Timeout = 60_000)]
    [InlineData(4)]
    [InlineData(16)]
    [InlineData(64)]
    public async Task ColdStart_FiveHundredItems_TakesAtMostATenthLongerThanTheBestFixedLimit(int capacity)
    {
        await Task.Yield();
        for (int seed = 1; seed <= 8; seed++)
        {
            double best = new[] { 1.0, 1.25, 1.5, 2, 3, 4 }.Min(factor => Time(new SimulatedClient((int)(factor * capacity)) { Items = 500 }, capacity, seed));
            double adaptive = Time(new SimulatedClient(New(out _)) { Items = 500 }, capacity, seed);
            output.WriteLine($"capacity {capacity}, seed {seed}: {adaptive:F1} against {best:F1}, {adaptive / best:F3}");
            Assert.InRange(adaptive / best, 0, 1.10);
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData(4)]
    [InlineData(16)]
    [InlineData(64)]
    public async Task Limit_AfterAWhile_IsTheCapacityWithinAQuarter(int capacity)
    {
        await Task.Yield();
        for (int seed = 1; seed <= 8; seed++)
        {
            SimulatedClient client = new(New(out ManualTimeProvider clock));
            new SimulatedServer(clock, capacity, seed).Add(client).Run(until: 600);
            int median = client.MedianLimit(200, 600);
            double throughput = client.CompletedBetween(200, 600) / (400.0 * capacity);
            output.WriteLine($"capacity {capacity}, seed {seed}: limit {median}, throughput {throughput:P1} of the capacity");
            Assert.InRange(median, 0.75 * capacity, 1.25 * capacity);
            Assert.InRange(throughput, 0.9, 1.01);
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData(16, 4, 16)]
    [InlineData(32, 4, 32)]
    [InlineData(32, 4, 200)]
    [InlineData(16, 1, 16)]
    [InlineData(32, 16, 32)]
    public async Task ColdStart_WaitsThatEndAtTicksOfATimer_AreNoQueue(int limit, int tick, int max)
    {
        await Task.Yield();
        foreach (int delay in (int[])[1, 2, 5, 15])
        {
            List<double> ratios = [];
            for (int seed = 1; seed <= 20; seed++)
            {
                double best = Ticking(new SimulatedClient(limit) { Items = 500 }, tick, delay, seed);
                AdaptiveSettings settings = Settings(new ManualTimeProvider()) with { Max = max, Initial = limit };
                ratios.Add(Ticking(new SimulatedClient(new AdaptiveController(settings)) { Items = 500 }, tick, delay, seed) / best);
            }

            ratios.Sort();
            output.WriteLine($"{limit} to {max}, delay {delay}, ticks of {tick}: {string.Join(", ", ratios.Select(static r => r.ToString("F2", null)))}");
            Assert.InRange(ratios[10], 0, 1.2);
            Assert.InRange(ratios[^1], 0, 1.6);
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData(4)]
    [InlineData(16)]
    [InlineData(64)]
    public async Task Limit_ServiceTimesThatDoNotVary_StaysNearTheCapacity(int capacity)
    {
        // Here calls do end together, one slot's after the other's, and queue all the same.
        await Task.Yield();
        AdaptiveController controller = New(out ManualTimeProvider clock);
        SimulatedClient client = new(controller);
        SimulatedServer server = new SimulatedServer(clock, capacity, 1) { Service = static _ => 1 }.Add(client);
        server.At(600, () => server.Capacity = capacity / 2);
        server.Run(until: 1200);
        (int whole, int half) = (client.MedianLimit(200, 600), client.MedianLimit(800, 1200));
        double throughput = client.CompletedBetween(200, 600) / (400.0 * capacity);
        output.WriteLine($"capacity {capacity}: limit {whole}, throughput {throughput:P1}; half of the capacity: limit {half}");
        Assert.InRange(whole, 0.75 * capacity, 1.5 * capacity);
        Assert.InRange(half, 0.5 * capacity / 2, 1.5 * capacity / 2);
        Assert.InRange(throughput, 0.9, 1.01);
    }

    [Fact(Timeout = 60_000)]
    public async Task Limit_WhenTheCapacityDropsFrom64To8_FollowsWithinTenWindows()
    {
        await Task.Yield();
        for (int seed = 1; seed <= 8; seed++)
        {
            AdaptiveController controller = New(out ManualTimeProvider clock);
            SimulatedClient client = new(controller);
            SimulatedServer server = new SimulatedServer(clock, 64, seed).Add(client);
            server.At(60, () => server.Capacity = 8);
            server.Run(until: 300);

            // The window that the drop falls into has begun before it.
            int during = client.Completions.Last(static c => c.Time <= 60).Windows + 1;
            int[] limits = Enumerable.Range(during + 1, 10).Select(w => client.Completions.First(c => c.Windows == w).Limit).ToArray();
            output.WriteLine($"seed {seed}: {string.Join(", ", limits)}");
            Assert.Contains(limits, static limit => limit is >= 6 and <= 10);
            Assert.InRange(client.MedianLimit(150, 300), 6, 10);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Limit_WhenTheCapacityRisesFrom8To64_FollowsWithinThirtyWindows()
    {
        await Task.Yield();
        for (int seed = 1; seed <= 8; seed++)
        {
            AdaptiveController controller = New(out ManualTimeProvider clock);
            SimulatedClient client = new(controller);
            SimulatedServer server = new SimulatedServer(clock, 8, seed).Add(client);
            server.At(100, () => server.Capacity = 64);
            server.Run(until: 400);
            int before = client.Completions.Last(static c => c.Time <= 100).Windows;
            int reached = client.Completions.First(static c => c.Time > 100 && c.Limit >= 48).Windows - before;
            output.WriteLine($"seed {seed}: {reached} windows");
            Assert.InRange(reached, 1, 30);
            Assert.InRange(client.MedianLimit(200, 400), 48, 80);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Limit_WhenEveryCallTakesThreeTimesAsLong_ReturnsAfterTheBaselineWasDoubted()
    {
        await Task.Yield();
        AdaptiveController controller = New(out ManualTimeProvider clock);
        SimulatedClient client = new(controller);
        SimulatedServer server = new SimulatedServer(clock, 64, 1).Add(client);
        server.At(60, () => server.Service = static random => 2.4 + (1.2 * random.NextDouble()));
        server.Run(until: 800);
        Assert.InRange(controller.Law.Baseline / SimulatedServer.Unit.Ticks, 2.7, 3.6);
        Assert.InRange(client.MedianLimit(400, 800), 48, 80);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(8, 0)]
    [InlineData(16, 0)]
    [InlineData(64, 0)]
    [InlineData(16, 20.3)]
    [InlineData(32, 100.7)]
    public async Task TwoRuns_AtOneServer_ShareItWithinTwoToOne(int capacity, double secondStartsAt)
    {
        await Task.Yield();
        for (int seed = 1; seed <= 6; seed++)
        {
            ManualTimeProvider clock = new();
            SimulatedClient first = new(new AdaptiveController(Settings(clock)));
            SimulatedClient second = new(new AdaptiveController(Settings(clock))) { StartsAt = secondStartsAt };
            new SimulatedServer(clock, capacity, seed).Add(first).Add(second).Run(until: 1500);
            double ratio = (double)first.CompletedBetween(400, 1500) / second.CompletedBetween(400, 1500);
            double used = (first.CompletedBetween(400, 1500) + second.CompletedBetween(400, 1500)) / (1100.0 * capacity);
            output.WriteLine($"capacity {capacity}, seed {seed}: {ratio:F2}, together {used:P1} of the capacity");
            Assert.InRange(ratio, 0.5, 2);
            Assert.InRange(used, 0.9, 1.01);
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData("normal on a log scale")]
    [InlineData("exponential")]
    [InlineData("one in a hundred takes a hundred times as long")]
    public async Task Throughput_WithLatenciesThatVaryWidely_StaysNearTheCapacity(string kind)
    {
        await Task.Yield();
        foreach (int capacity in new[] { 16, 64 })
        {
            List<double> ratios = [];
            for (int seed = 1; seed <= 5; seed++)
            {
                int items = 200 * capacity;
                double best = Time(new SimulatedClient(2 * capacity) { Items = items }, capacity, seed, kind);
                ratios.Add(Time(new SimulatedClient(New(out _)) { Items = items }, capacity, seed, kind) / best);
            }

            output.WriteLine($"{kind}, capacity {capacity}: {string.Join(", ", ratios.Select(static r => r.ToString("F2", null)))}");
            Assert.InRange(ratios.Order().ElementAt(2), 0, 1.25);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task ColdStart_UpToMaxAtAServerWithoutACapacity_TakesAtMostATenthLongerThanMax()
    {
        // R24: a limit that starts at Min and grows by one a second needs 3.5 times as long here.
        await Task.Yield();
        AdaptiveController controller = new(Settings(new ManualTimeProvider()) with { Min = 4, Max = 32, Initial = 32 });
        double best = Time(new SimulatedClient(32) { Items = 500 }, 1000, 1);
        Assert.InRange(Time(new SimulatedClient(controller) { Items = 500 }, 1000, 1) / best, 0, 1.10);
        AdaptiveController fromFour = new(Settings(new ManualTimeProvider()) with { Min = 4, Max = 32, Initial = 4 });
        Assert.InRange(Time(new SimulatedClient(fromFour) { Items = 500 }, 1000, 1) / best, 0, 1.25);
    }

    [Fact(Timeout = 60_000)]
    public async Task TargetLatency_AboveTheServersOwn_NeverLowersTheLimit()
    {
        // R22: with the wait for the limit inside the latency, 20 ms calls under a 30 ms target drive the limit from 16 to 1.
        await Task.Yield();
        ManualTimeProvider clock = new();
        SimulatedClient client = new(new AdaptiveController(Settings(clock) with
        {
            Initial = 16, Max = 16, TargetLatency = TimeSpan.FromMilliseconds(30), Decrease = AdaptiveConcurrencyStrategy.AIMD,
            Increase = AdaptiveConcurrencyStrategy.AIMD,
        })) { Items = 1500 };
        SimulatedServer server = new SimulatedServer(clock, 1000, 1) { Service = static _ => 2 }.Add(client);
        server.Run();
        Assert.All(client.Completions, static c => Assert.Equal(16, c.Limit));
        Assert.InRange(client.End * SimulatedServer.Unit.TotalSeconds, 1.8, 1.95);
    }

    [Fact(Timeout = 60_000)]
    public async Task TargetLatency_ThatTheQueueBreaks_HoldsTheLimitBelowIt()
    {
        await Task.Yield();
        AdaptiveController controller = new(Settings(new ManualTimeProvider()) with { TargetLatency = 1.5 * SimulatedServer.Unit });
        SimulatedClient client = new(controller);
        Time(client, 16, 1, until: 400);
        Assert.InRange(client.MedianLimit(100, 400), 12, 24);
    }

    [Fact(Timeout = 60_000)]
    public async Task Failures_BeyondTheRate_LowerTheLimitUntilTheyEnd()
    {
        await Task.Yield();
        AdaptiveController controller = New(out ManualTimeProvider clock);
        SimulatedClient client = new(controller);
        SimulatedServer server = new SimulatedServer(clock, 64, 1).Add(client);
        server.Fails = random => client.InFlight > 20 && random.NextDouble() < 0.5;
        server.Run(until: 300);
        Assert.InRange(client.MedianLimit(100, 300), 8, 28);
        server.Fails = static _ => false;
        server.Run(until: 500);
        Assert.InRange(client.MedianLimit(400, 500), 40, 90);
    }

    [Fact(Timeout = 60_000)]
    public async Task Limit_WithASourceThatHoldsTheRunBack_DoesNotGrow()
    {
        await Task.Yield();
        AdaptiveController controller = New(out ManualTimeProvider clock);
        SimulatedClient client = new(controller) { SourceAllows = 10 };
        new SimulatedServer(clock, 1000, 1).Add(client).Run(until: 200);
        Assert.All(client.Completions, static c => Assert.Equal(32, c.Limit));
    }

    private static AdaptiveController New(out ManualTimeProvider clock)
    {
        clock = new ManualTimeProvider();
        return new AdaptiveController(Settings(clock));
    }

    private static AdaptiveSettings Settings(ManualTimeProvider clock) =>
        new() { Min = 1, Max = 200, Initial = 32, SampleInterval = TimeSpan.FromSeconds(1), TimeProvider = clock };

    private static double Time(SimulatedClient client, int capacity, int seed, string kind = "", double until = double.PositiveInfinity)
    {
        SimulatedServer server = new(new ManualTimeProvider(), capacity, seed);
        if (kind.Length > 0)
        {
            server.Service = kind[0] switch
            {
                'n' => static random => Math.Exp((0.5 * Normal(random)) - 0.125),
                'e' => static random => -Math.Log(1 - random.NextDouble()),
                _ => static random => (random.Next(100) == 0 ? 100 : 1) * (0.9 + (0.2 * random.NextDouble())),
            };
        }

        server.Add(client).Run(until);
        return client.End;
    }

    /// <summary>
    /// The time of a run whose calls wait on a timer with a coarse clock: those that start together end together, at the first look at the clock that says so.
    /// Looks come when a wait was to end, and again after what then still seems to be missing.
    /// </summary>
    private static double Ticking(SimulatedClient client, int tick, int delay, int seed)
    {
        ManualTimeProvider clock = new();
        Random random = new(seed);
        double ms = TimeSpan.FromMilliseconds(1) / SimulatedServer.Unit;
        double phase = random.NextDouble() * tick * ms;
        double began = double.NegativeInfinity;
        double ends = 0;
        SimulatedServer server = new(clock, 1000, seed);
        server.Service = r =>
        {
            double now = server.Now;
            if (now - began > 0.2 * ms)
            {
                began = now;
                double due = Coarse(now) + (delay * ms);
                ends = now;
                while (Coarse(ends) < due)
                {
                    ends += Math.Max(1, Math.Ceiling((due - Coarse(ends)) / ms)) * ms * (1.02 + (0.05 * r.NextDouble()));
                }
            }

            return ends - now + (0.01 * ms * (1 + r.NextDouble()));
        };
        server.Add(client).Run();
        return client.End;

        double Coarse(double time) => Math.Floor((time + phase) / (tick * ms)) * tick * ms;
    }

    private static double Normal(Random random) =>
        Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble());
}
