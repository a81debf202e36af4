namespace Weir.Resilience.Tests.CircuitBreakers;

public class CircuitBreakerOptionsTests
{
    private static readonly TimeSpan OpenTimeout = TimeSpan.FromSeconds(30);

    [Fact]
    public void Options_Defaults_AreThoseDocumented()
    {
        var options = new CircuitBreakerOptions();
        Assert.Equal((5, 2, OpenTimeout), (options.FailureThreshold, options.SuccessThreshold, options.OpenTimeout));
        Assert.Null(options.SamplingDuration);
        Assert.Null(options.FailureRatio);
        Assert.Equal(10, options.MinimumThroughput);
        Assert.Equal((null, 0.5), (options.SlowCallDuration, options.SlowCallRatio));
        Assert.Same(TimeProvider.System, options.TimeProvider);
    }

    [Fact]
    public void Constructor_OptionOutOfRange_IsNamed()
    {
        static void Wrong(string name, CircuitBreakerOptions options)
        {
            ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>(name, () => new CircuitBreaker(options));
            Assert.StartsWith(name + " must be", error.Message, StringComparison.Ordinal);
        }

        Wrong(nameof(CircuitBreakerOptions.FailureThreshold), new CircuitBreakerOptions { FailureThreshold = 0 });
        Wrong(nameof(CircuitBreakerOptions.SuccessThreshold), new CircuitBreakerOptions { SuccessThreshold = 0 });
        Wrong(nameof(CircuitBreakerOptions.OpenTimeout), new CircuitBreakerOptions { OpenTimeout = TimeSpan.Zero });
        Wrong(nameof(CircuitBreakerOptions.SamplingDuration), new CircuitBreakerOptions { SamplingDuration = TimeSpan.Zero });
        Wrong(nameof(CircuitBreakerOptions.SamplingDuration), new CircuitBreakerOptions { FailureRatio = 0.5 });
        Wrong(nameof(CircuitBreakerOptions.MinimumThroughput), new CircuitBreakerOptions { MinimumThroughput = 0 });
        foreach (double ratio in new[] { 0, -1, 1.01, double.NaN })
        {
            Wrong(nameof(CircuitBreakerOptions.FailureRatio), new CircuitBreakerOptions { FailureRatio = ratio, SamplingDuration = OpenTimeout });
            Wrong(nameof(CircuitBreakerOptions.SlowCallRatio), new CircuitBreakerOptions { SlowCallRatio = ratio });
        }

        Wrong(
            nameof(CircuitBreakerOptions.SlowCallDuration),
            new CircuitBreakerOptions { SlowCallDuration = TimeSpan.Zero, SamplingDuration = OpenTimeout });
        Wrong(nameof(CircuitBreakerOptions.SamplingDuration), new CircuitBreakerOptions { SlowCallDuration = OpenTimeout });

        Assert.Throws<ArgumentNullException>("TimeProvider", () => new CircuitBreaker(new CircuitBreakerOptions { TimeProvider = null! }));
    }
}
