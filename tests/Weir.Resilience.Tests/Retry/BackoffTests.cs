using System.Numerics;
using FsCheck;
using FsCheck.Fluent;

namespace Weir.Resilience.Tests.Retry;

public class BackoffTests
{
    private static readonly Gen<int> Attempts = Gen.OneOf(Gen.Choose(1, 12), Gen.Choose(13, 80), Gen.Choose(1_000, int.MaxValue));

    private static readonly Gen<TimeSpan> Delays =
        from scale in Gen.Choose(0, 13)
        from digits in Gen.Choose(0, 99)
        select new TimeSpan((long)(digits * Math.Pow(10, scale) / 10));

    private static readonly Gen<Case> Cases =
        from strategy in Gen.Elements(Enum.GetValues<BackoffStrategy>())
        from start in Delays
        from more in Delays
        from attempt in Attempts
        from previous in Delays
        from chance in Gen.Choose(0, 999_999)
        select new Case(strategy, start, start + more, attempt, previous, chance / 1e6);

    [Fact]
    public void GetDelay_AnyArguments_IsThePlainFormula() => Generated.ForAll(Cases, static c =>
    {
        TimeSpan delay = Backoff.GetDelay(c.Strategy, c.Base, c.Cap, c.Attempt, c.Previous, () => c.Chance);
        (BigInteger low, BigInteger high) = Range(c);
        BigInteger expected = low + new BigInteger(Math.Floor((double)(high - low) * c.Chance));
        Assert.InRange(delay.Ticks, (long)expected - 1, (long)expected + 1);
        Assert.InRange(delay, TimeSpan.Zero, c.Cap);
    }, cases: 3_000);

    [Theory]
    [InlineData(BackoffStrategy.Exponential, 100, 200, 400, 800, 1_000, 1_000)]
    [InlineData(BackoffStrategy.Linear, 100, 200, 300, 400, 500, 600)]
    public void GetDelay_WithoutJitter_GrowsAsDocumented(BackoffStrategy strategy, params int[] milliseconds)
    {
        IEnumerable<TimeSpan> delays = Enumerable.Range(1, milliseconds.Length).Select(
            n => Backoff.GetDelay(strategy, Span.Ms(100), Span.Ms(1_000), n, TimeSpan.Zero, static () => throw new InvalidOperationException()));
        Assert.Equal(milliseconds.Select(static ms => Span.Ms(ms)), delays);
    }

    [Fact]
    public void GetDelay_DecorrelatedJitter_StaysBetweenTheBaseAndThreeTimesTheLast()
    {
        var random = new SeededRandom(7);
        TimeSpan previous = TimeSpan.Zero;
        for (int attempt = 1; attempt <= 200; attempt++)
        {
            TimeSpan delay = Backoff.GetDelay(BackoffStrategy.DecorrelatedJitter, Span.Ms(10), Span.Ms(5_000), attempt, previous, random.NextDouble);
            Assert.InRange(delay, Span.Ms(10), attempt == 1 ? Span.Ms(10) : new[] { Span.Ms(5_000), 3 * previous }.Min());
            previous = delay;
        }
    }

    // A base delay of 1 ms with jitter used to be no delay at all, because what lies below a millisecond was cut off.
    [Theory]
    [InlineData(BackoffStrategy.ExponentialJitter)]
    [InlineData(BackoffStrategy.LinearJitter)]
    public void GetDelay_JitterBelowAMillisecond_IsNotCutOff(BackoffStrategy strategy)
    {
        var random = new SeededRandom(42);
        TimeSpan[] delays =
            [.. Enumerable.Range(0, 1_000).Select(_ => Backoff.GetDelay(strategy, Span.Ms(1), Span.Ms(100), 1, TimeSpan.Zero, random.NextDouble))];
        Assert.InRange(delays.Average(static d => d.TotalMilliseconds), 0.45, 0.55);
        Assert.True(delays.Count(static d => d == TimeSpan.Zero) <= 5);
        Assert.All(delays.Where(static d => d > TimeSpan.Zero), static d => Assert.Equal(Span.Ms(1), TimerDelay.RoundUp(d)));
    }

    [Theory]
    [InlineData(double.NaN, 0)]
    [InlineData(-3, 0)]
    [InlineData(1, 100)]
    [InlineData(double.PositiveInfinity, 100)]
    public void GetDelay_RandomnessOutOfRange_StaysInRange(double chance, int milliseconds) => Assert.Equal(
        Span.Ms(milliseconds), Backoff.GetDelay(BackoffStrategy.LinearJitter, Span.Ms(100), Span.Ms(1_000), 1, TimeSpan.Zero, () => chance));

    [Fact]
    public void GetDelay_WrongArgument_IsNamed()
    {
        static string? Wrong(int strategy, int start, int cap, int attempt, int previous) => Assert.Throws<ArgumentOutOfRangeException>(() =>
            Backoff.GetDelay((BackoffStrategy)strategy, Span.Ms(start), Span.Ms(cap), attempt, Span.Ms(previous), static () => 0)).ParamName;

        Assert.Equal("strategy", Wrong(5, 1, 1, 1, 0));
        Assert.Equal("baseDelay", Wrong(0, -1, 1, 1, 0));
        Assert.Equal("maxDelay", Wrong(0, 1, -1, 1, 0));
        Assert.Equal("attempt", Wrong(0, 1, 1, 0, 0));
        Assert.Equal("previousDelay", Wrong(0, 1, 1, 1, -1));
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(-5, 0)]
    [InlineData(1, 10_000)]
    [InlineData(9_999, 10_000)]
    [InlineData(10_000, 10_000)]
    [InlineData(10_001, 20_000)]
    [InlineData(long.MaxValue, (uint.MaxValue - 1) * 10_000L)]
    public void RoundUp_Ticks_AreWholeMillisecondsNotLess(long ticks, long expected) => Assert.Equal(expected, TimerDelay.RoundUp(new TimeSpan(ticks)).Ticks);

    // The documented formulas, with numbers that cannot overflow.
    private static (BigInteger Low, BigInteger High) Range(Case c)
    {
        BigInteger start = c.Base.Ticks;
        BigInteger cap = c.Cap.Ticks;
        BigInteger exponential = BigInteger.Min(cap, start * BigInteger.Pow(2, Math.Min(c.Attempt - 1, 100)));
        BigInteger linear = BigInteger.Min(cap, start * c.Attempt);
        return c.Strategy switch
        {
            BackoffStrategy.Exponential => (exponential, exponential),
            BackoffStrategy.ExponentialJitter => (0, exponential),
            BackoffStrategy.Linear => (linear, linear),
            BackoffStrategy.LinearJitter => (0, linear),
            _ when c.Attempt == 1 => (start, start),
            _ => (start, BigInteger.Min(cap, BigInteger.Max(start, 3 * (BigInteger)c.Previous.Ticks))),
        };
    }

    private sealed record Case(BackoffStrategy Strategy, TimeSpan Base, TimeSpan Cap, int Attempt, TimeSpan Previous, double Chance);
}
