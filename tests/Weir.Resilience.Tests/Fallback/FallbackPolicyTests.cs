namespace Weir.Resilience.Tests.Fallbacks;

public class FallbackPolicyTests
{
    [Fact]
    public void ShouldHandle_Default_IsEveryFailureButACancellation()
    {
        var policy = new FallbackPolicy<int>(new FallbackOptions<int> { Handler = static (_, _) => new ValueTask<int>(7) });
        Assert.True(policy.ShouldHandle(new IOException()));
        Assert.True(policy.ShouldHandle(new CircuitBreakerOpenException()));
        Assert.True(policy.ShouldHandle(new TaskCanceledException("late", new TimeoutException())));
        Assert.False(policy.ShouldHandle(new OperationCanceledException()));
        Assert.False(policy.ShouldHandle(new IOException(), new CancellationToken(canceled: true)));
    }

    [Fact]
    public void ShouldHandle_Own_Decides()
    {
        var policy = new FallbackPolicy<int>(
            new FallbackOptions<int> { Handler = static (_, _) => new ValueTask<int>(7), ShouldHandle = static e => e is not IOException });
        Assert.False(policy.ShouldHandle(new IOException()));
        Assert.True(policy.ShouldHandle(new OperationCanceledException()));
    }

    [Fact]
    public void Constructor_NoHandler_IsNamed()
    {
        Assert.Throws<ArgumentNullException>("options", () => new FallbackPolicy<int>(null!));
        Assert.Throws<ArgumentNullException>("Handler", () => new FallbackPolicy<int>(new FallbackOptions<int> { Handler = null! }));
    }
}
