using System.Collections.Concurrent;
using FsCheck;
using FsCheck.Fluent;

namespace Weir.Resilience.Tests.CircuitBreakers;

public class CircuitBreakerModelTests
{
    private enum Step
    {
        Enter,
        Succeed,
        Fail,
        Ignore,
        AskToWait,
        Advance,
    }

    private static readonly Gen<CircuitBreakerOptions> Options =
        from failures in Gen.Choose(1, 4)
        from successes in Gen.Choose(1, 3)
        from open in Gen.Choose(1, 40)
        from sampling in Gen.Choose(0, 30)
        from ratio in Gen.Choose(0, 10)
        from minimum in Gen.Choose(1, 6)
        from slow in Gen.Choose(0, 8)
        from slowRatio in Gen.Choose(1, 10)
        select new CircuitBreakerOptions
        {
            FailureThreshold = failures,
            SuccessThreshold = successes,
            OpenTimeout = Span.Ms(open),
            SamplingDuration = sampling == 0 ? null : Span.Ms(sampling),
            FailureRatio = sampling == 0 || ratio == 0 ? null : ratio / 10.0,
            MinimumThroughput = minimum,
            SlowCallDuration = sampling == 0 || slow == 0 ? null : Span.Ms(slow),
            SlowCallRatio = slowRatio / 10.0,
            CoolDown = static e => e is AskingException asking ? asking.Time : null,
            MaxCoolDown = Span.Ms(20),
        };

    private static readonly Gen<(Step Step, int Pick)> Steps =
        from step in Gen.Frequency(
            (5, Gen.Constant(Step.Enter)), (3, Gen.Constant(Step.Succeed)), (4, Gen.Constant(Step.Fail)), (1, Gen.Constant(Step.Ignore)),
            (1, Gen.Constant(Step.AskToWait)),
            (2, Gen.Constant(Step.Advance)))
        from pick in Gen.Choose(0, 30)
        select (step, pick);

    private static readonly Gen<(CircuitBreakerOptions Options, (Step Step, int Pick)[] Plan)> Cases =
        from options in Options
        from size in Gen.Choose(1, 120)
        from plan in Gen.ArrayOf(Steps, size)
        select (options, plan);

    [Fact]
    public void AnyPlan_AgainstTheReference_IsTheSame() => Generated.ForAll(Cases, static c => Run(c.Options, c.Plan), cases: 3_000);

    private sealed class AskingException(TimeSpan time) : Exception
    {
        public TimeSpan Time => time;
    }

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
                    case Step.AskToWait:
                        breaker.Report(real, new AskingException(Span.Ms(pick)));
                        reference.AskedToWait(expected, Span.Ms(pick));
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
}
