namespace Weir.Resilience.Tests.Retry;

public class RetryPolicyTests
{
    private static readonly TimeoutException Error = new("slow");

    [Fact]
    public void GetDelay_AttemptsLeft_IsTheBackoff()
    {
        var policy = new RetryPolicy(new RetryOptions { MaxRetries = 2, BaseDelay = Span.Ms(10), BackoffStrategy = BackoffStrategy.Exponential });
        Assert.Equal(Span.Ms(10), policy.GetDelay(1, Error, TimeSpan.Zero));
        Assert.Equal(Span.Ms(20), policy.GetDelay(2, Error, Span.Ms(10)));
        Assert.Null(policy.GetDelay(3, Error, Span.Ms(20)));
    }

    [Fact]
    public void GetDelay_NoRetries_GivesUpAtOnce() => Assert.Null(new RetryPolicy(new RetryOptions { MaxRetries = 0 }).GetDelay(1, Error, TimeSpan.Zero));

    [Fact]
    public void GetDelay_Defaults_AreThoseDocumented()
    {
        var options = new RetryOptions();
        Assert.Equal((3, Span.Ms(100), TimeSpan.FromMinutes(5), BackoffStrategy.ExponentialJitter),
            (options.MaxRetries, options.BaseDelay, options.MaxDelay, options.BackoffStrategy));
    }

    [Fact]
    public void GetDelay_CallerCancelled_GivesUpWithoutAsking()
    {
        var policy = new RetryPolicy(new RetryOptions
        {
            IsTransient = static _ => throw new InvalidOperationException("asked"),
            DelayHint = static _ => throw new InvalidOperationException("asked"),
        });
        Assert.Null(policy.GetDelay(1, Error, TimeSpan.Zero, new CancellationToken(canceled: true)));
    }

    [Fact]
    public void GetDelay_OwnIsTransient_DecidesAboutEverything()
    {
        var policy = new RetryPolicy(new RetryOptions { IsTransient = static e => e is IOException or OperationCanceledException, BaseDelay = TimeSpan.Zero });
        Assert.Equal(TimeSpan.Zero, policy.GetDelay(1, new IOException(), TimeSpan.Zero));
        Assert.Equal(TimeSpan.Zero, policy.GetDelay(1, new OperationCanceledException(), TimeSpan.Zero));
        Assert.Null(policy.GetDelay(1, new InvalidOperationException(), TimeSpan.Zero));
        Assert.Null(policy.GetDelay(1, new TimeoutException(), TimeSpan.Zero));
    }

    [Theory]
    [InlineData(0.25, 0.25)]
    [InlineData(0, 0)]
    [InlineData(100_000, 1_000)]
    public void GetDelay_Hint_ReplacesTheBackoffWithinTheCap(double hint, double expected)
    {
        var policy = new RetryPolicy(new RetryOptions { MaxDelay = Span.Ms(1_000), DelayHint = _ => Span.Ms(hint) });
        Assert.Equal(Span.Ms(expected), policy.GetDelay(1, Error, TimeSpan.Zero));
    }

    [Theory]
    [InlineData(null)]
    [InlineData(-1.0)]
    public void GetDelay_NoHintOrNegative_IsTheBackoff(double? hint)
    {
        var policy = new RetryPolicy(new RetryOptions { DelayHint = _ => hint is { } ms ? Span.Ms(ms) : null, BackoffStrategy = BackoffStrategy.Exponential });
        Assert.Equal(Span.Ms(100), policy.GetDelay(1, Error, TimeSpan.Zero));
    }

    [Fact]
    public void GetDelay_ByDefault_IsFullJitter()
    {
        foreach ((double chance, int first, int second) in new[] { (0.0, 0, 0), (0.5, 50, 100), (0.9, 90, 180) })
        {
            var policy = new RetryPolicy(new RetryOptions { Randomness = () => chance });
            Assert.Equal(Span.Ms(first), policy.GetDelay(1, Error, TimeSpan.Zero));
            Assert.Equal(Span.Ms(second), policy.GetDelay(2, Error, Span.Ms(first)));
        }
    }

    [Fact]
    public void GetDelay_SameSeed_SameDelays()
    {
        static TimeSpan?[] Delays(long seed)
        {
            var policy = new RetryPolicy(
                new RetryOptions { BackoffStrategy = BackoffStrategy.ExponentialJitter, Randomness = new SeededRandom(seed).NextDouble, MaxRetries = 20 });
            return [.. Enumerable.Range(1, 20).Select(n => policy.GetDelay(n, Error, TimeSpan.Zero))];
        }

        Assert.Equal(Delays(1), Delays(1));
        Assert.NotEqual(Delays(1), Delays(2));
    }

    [Fact]
    public void GetDelay_WrongArgument_IsNamed()
    {
        var policy = new RetryPolicy();
        Assert.Throws<ArgumentNullException>("exception", () => policy.GetDelay(1, null!, TimeSpan.Zero));
        Assert.Throws<ArgumentOutOfRangeException>("attempt", () => policy.GetDelay(0, Error, TimeSpan.Zero));
        Assert.Throws<ArgumentOutOfRangeException>("previousDelay", () => policy.GetDelay(1, Error, -Span.Ms(1)));
    }

    [Fact]
    public void Constructor_OptionOutOfRange_IsNamed()
    {
        static void Wrong(string name, RetryOptions options)
        {
            ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>(name, () => new RetryPolicy(options));
            Assert.StartsWith(name + " must be", error.Message, StringComparison.Ordinal);
        }

        Wrong(nameof(RetryOptions.MaxRetries), new RetryOptions { MaxRetries = -1 });
        Wrong(nameof(RetryOptions.BaseDelay), new RetryOptions { BaseDelay = -Span.Ms(1) });
        Wrong(nameof(RetryOptions.MaxDelay), new RetryOptions { MaxDelay = TimeSpan.FromDays(50) });
        Wrong(nameof(RetryOptions.MaxDelay), new RetryOptions { MaxDelay = Span.Ms(99) });
        Wrong(nameof(RetryOptions.BackoffStrategy), new RetryOptions { BackoffStrategy = (BackoffStrategy)9 });
    }

    [Fact]
    public void SeededRandom_Numbers_AreEvenAndInRange()
    {
        var random = new SeededRandom(1);
        int[] tenths = new int[10];
        for (int i = 0; i < 100_000; i++)
        {
            tenths[(int)(random.NextDouble() * 10)]++;
        }

        Assert.All(tenths, static n => Assert.InRange(n, 9_500, 10_500));
    }
}
