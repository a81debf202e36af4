using System.Collections.Concurrent;
using FsCheck;
using FsCheck.Fluent;
using Weir.TestKit;

namespace Weir.Resilience.Tests.CircuitBreakers;

public class CircuitBreakerModelTests
{
    private enum Step
    {
        Enter,
        Succeed,
        Fail,
        Ignore,
        Advance,
    }

    private static readonly Gen<CircuitBreakerOptions> Options =
        from failures in Gen.Choose(1, 4)
        from successes in Gen.Choose(1, 3)
        from open in Gen.Choose(1, 40)
        from sampling in Gen.Choose(0, 30)
        from ratio in Gen.Choose(0, 10)
        from minimum in Gen.Choose(1, 6)
        select new CircuitBreakerOptions
        {
            FailureThreshold = failures,
            SuccessThreshold = successes,
            OpenTimeout = Span.Ms(open),
            SamplingDuration = sampling == 0 ? null : Span.Ms(sampling),
            FailureRatio = sampling == 0 || ratio == 0 ? null : ratio / 10.0,
            MinimumThroughput = minimum,
        };

    private static readonly Gen<(Step Step, int Pick)> Steps =
        from step in Gen.Frequency(
            (5, Gen.Constant(Step.Enter)), (3, Gen.Constant(Step.Succeed)), (4, Gen.Constant(Step.Fail)), (1, Gen.Constant(Step.Ignore)),
            (2, Gen.Constant(Step.Advance)))
        from pick in Gen.Choose(0, 30)
        select (step, pick);

    private static readonly Gen<(CircuitBreakerOptions Options, (Step Step, int Pick)[] Plan)> Cases =
        from options in Options
        from size in Gen.Choose(1, 120)
        from plan in Gen.ArrayOf(Steps, size)
        select (options, plan);

    [Fact]
    public void AnyPlan_AgainstTheReference_IsTheSame() => Check.ForAll(Cases, static c => Run(c.Options, c.Plan), cases: 3_000);

    private static void Run(CircuitBreakerOptions options, (Step Step, int Pick)[] plan)
    {
        var clock = new ManualTimeProvider();
        var breaker = new CircuitBreaker(options with { TimeProvider = clock });
        var reference = new ReferenceBreaker(options);
        List<(CircuitTicket Real, object Reference)> calls = [];
        foreach ((Step step, int pick) in plan)
        {
            if (step == Step.Advance)
            {
                clock.Advance(Span.Ms(pick));
                reference.Now = clock.GetTimestamp();
            }
            else if (step == Step.Enter)
            {
                bool entered = breaker.TryEnter(out CircuitTicket ticket);
                object? expected = reference.Enter();
                Assert.Equal(expected is not null, entered);
                if (expected is not null)
                {
                    calls.Add((ticket, expected));
                }
            }
            else if (calls.Count > 0)
            {
                (CircuitTicket real, object expected) = calls[pick % calls.Count];
                calls.RemoveAt(pick % calls.Count);
                switch (step)
                {
                    case Step.Succeed:
                        breaker.Succeeded(real);
                        reference.Succeeded(expected);
                        break;
                    case Step.Fail:
                        breaker.Failed(real);
                        reference.Failed(expected);
                        break;
                    default:
                        breaker.Ignored(real);
                        reference.Ignored(expected);
                        break;
                }
            }

            Assert.Equal((reference.State, reference.RetryAfter), (breaker.State, breaker.RetryAfter));
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task ManyThreads_RandomOutcomes_ChangesFollowEachOtherAndItRecovers(bool window, bool ratio)
    {
        var clock = new ManualTimeProvider();
        var changes = new ConcurrentQueue<(CircuitBreakerState From, CircuitBreakerState To)>();
        var breaker = new CircuitBreaker(new CircuitBreakerOptions
        {
            FailureThreshold = 3,
            OpenTimeout = Span.Ms(5),
            SamplingDuration = window ? Span.Ms(50) : null,
            FailureRatio = ratio ? 0.4 : null,
            TimeProvider = clock,
            OnStateChange = (from, to) =>
            {
                changes.Enqueue((from, to));
                return default;
            },
        });

        Task[] callers = [.. Enumerable.Range(0, 4).Select(seed => Task.Run(() =>
        {
            var random = new SeededRandom(seed);
            for (int i = 0; i < 20_000; i++)
            {
                if (!breaker.TryEnter(out CircuitTicket ticket))
                {
                    clock.Advance(Span.Ms(1));
                    continue;
                }

                double outcome = random.NextDouble();
                if (outcome < 0.5)
                {
                    breaker.Succeeded(ticket);
                }
                else if (outcome < 0.9)
                {
                    breaker.Failed(ticket);
                }
                else
                {
                    breaker.Ignored(ticket);
                }
            }
        }))];
        await Task.WhenAll(callers);

        // Whatever state it was left in, two probes close it: none was lost on the way.
        while (breaker.State != CircuitBreakerState.Closed)
        {
            clock.Advance(Span.Ms(5));
            if (breaker.TryEnter(out CircuitTicket ticket))
            {
                breaker.Succeeded(ticket);
            }
        }

        await Until.TrueAsync(() => changes.LastOrDefault().To == CircuitBreakerState.Closed && !changes.IsEmpty);
        Assert.Equal(CircuitBreakerState.Closed, changes.First().From);
        Assert.All(changes.Zip(changes.Skip(1)), static pair => Assert.Equal(pair.First.To, pair.Second.From));
    }

    [Fact(Timeout = 60_000)]
    public async Task Failed_ManyThreads_CountsEachOnce()
    {
        var breaker = new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 4_001, TimeProvider = new ManualTimeProvider() });
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            for (int i = 0; i < 1_000; i++)
            {
                Assert.True(breaker.TryEnter(out CircuitTicket ticket));
                breaker.Failed(ticket);
            }
        })));
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Assert.True(breaker.TryEnter(out CircuitTicket last));
        breaker.Failed(last);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact(Timeout = 60_000)]
    public async Task TryEnter_HalfOpenManyThreads_LetsInExactlyTheProbes()
    {
        var clock = new ManualTimeProvider();
        for (int round = 0; round < 200; round++)
        {
            var breaker = new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 3, TimeProvider = clock });
            breaker.TryEnter(out CircuitTicket first);
            breaker.Failed(first);
            clock.Advance(TimeSpan.FromSeconds(30));
            using var start = new Barrier(3);
            int[] entered = await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => Task.Factory.StartNew(
                () =>
                {
                    start.SignalAndWait();
                    return Enumerable.Range(0, 3).Count(_ => breaker.TryEnter(out CircuitTicket _));
                },
                TestContext.Current.CancellationToken,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default)));
            Assert.Equal(3, entered.Sum());
        }
    }
}
