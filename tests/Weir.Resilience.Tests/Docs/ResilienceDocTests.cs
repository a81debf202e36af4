using System.Text.RegularExpressions;
using Weir.TestKit;

namespace Weir.Resilience.Tests.Docs;

public partial class ResilienceDocTests
{
    [Fact]
    public void Doc_EachExample_IsTheCompiledOne()
    {
        string code = Squeeze(Read("ResilienceExamples.cs"));
        string[] examples = [.. Examples().Matches(Read("resilience.md")).Select(static m => Squeeze(m.Groups[1].Value))];
        Assert.Equal(3, examples.Length);
        Assert.All(examples, example => Assert.Contains(example, code, StringComparison.Ordinal));
    }

    [Fact(Timeout = 90_000)]
    public async Task Examples_Run_DoWhatTheDocSays()
    {
        CancellationToken token = TestContext.Current.CancellationToken;
        Assert.Equal("page /prices", await ResilienceExamples.ChainAsync(token));
        var none = new RetryPolicy(new RetryOptions { MaxRetries = 0 });
        await Assert.ThrowsAsync<IOException>(() => ResilienceExamples.RetryAsync(none, "/broken", new ManualTimeProvider(), token));
        var breaker = new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 1 });
        await Assert.ThrowsAsync<IOException>(() => ResilienceExamples.BreakerAsync(breaker, "/broken", token));
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => ResilienceExamples.BreakerAsync(breaker, "/prices", token));
    }

    private static string Read(string name)
    {
        using Stream stream = typeof(ResilienceDocTests).Assembly.GetManifestResourceStream(name)!;
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }

    private static string Squeeze(string text) => Spaces().Replace(text, " ").Trim();

    [GeneratedRegex("```csharp\n(.*?)```", RegexOptions.Singleline)]
    private static partial Regex Examples();

    [GeneratedRegex(@"\s+")]
    private static partial Regex Spaces();
}
