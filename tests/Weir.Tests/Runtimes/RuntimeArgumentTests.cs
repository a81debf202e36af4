using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>Arguments are checked at the call, in both forms, with the name of what is wrong.</summary>
public class RuntimeArgumentTests
{
    private static readonly Func<int, CancellationToken, ValueTask<int>> Same = static (x, _) => new ValueTask<int>(x);

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_NullArguments_ThrowsAtTheCall(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Assert.Throws<ArgumentNullException>("items", () => { _ = runtime.ProcessManyAsync(null!, Same); });
        Assert.Throws<ArgumentNullException>("items", () => { _ = runtime.ProcessManyStreamAsync(null!, Same); });
        Assert.Throws<ArgumentNullException>("processor", () => { _ = runtime.ProcessManyAsync<int, int>([], null!); });
        Assert.Throws<ArgumentNullException>("processor", () => { _ = runtime.ProcessManyStreamAsync<int, int>([], null!); });
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_TimeoutsOutOfRange_ThrowsAtTheCall(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (TimeSpan bad in new[]
        {
            TimeSpan.Zero, TimeSpan.FromTicks(-1), TimeSpan.FromMilliseconds(-2), TimeSpan.FromMilliseconds(uint.MaxValue), TimeSpan.MaxValue,
        })
        {
            AssertRefused("PerItemTimeout", bad, new ProcessManyOptions { PerItemTimeout = bad });
            AssertRefused("TotalTimeout", bad, new ProcessManyOptions { TotalTimeout = bad });
        }

        void AssertRefused(string property, TimeSpan value, ProcessManyOptions options)
        {
            foreach (ArgumentOutOfRangeException e in new[]
            {
                Assert.Throws<ArgumentOutOfRangeException>(property, () => { _ = runtime.ProcessManyAsync([1], Same, options); }),
                Assert.Throws<ArgumentOutOfRangeException>(property, () => { _ = runtime.ProcessManyStreamAsync([1], Same, false, options); }),
            })
            {
                Assert.Equal(value, e.ActualValue);
            }
        }
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task ProcessMany_LongestTimeouts_AreAccepted(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        TimeSpan longest = TimeSpan.FromMilliseconds(uint.MaxValue - 1);
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            [1, 2, 3], Same, new ProcessManyOptions { PerItemTimeout = longest, TotalTimeout = longest }, CancellationToken.None);
        Assert.All(outcomes, static o => Assert.True(o.IsSuccess));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(int.MinValue)]
    public async Task Constructor_LimitBelowOne_Throws(int limit)
    {
        await Task.CompletedTask;
        Assert.Throws<ArgumentOutOfRangeException>("concurrencyPerCall", () => new ConcurrentRuntime(limit));
        Assert.Throws<ArgumentOutOfRangeException>("workers", () => new ParallelRuntime(limit));
    }

    [Fact(Timeout = 90_000)]
    public async Task Constructor_OptionsOutOfRange_Throws()
    {
        await Task.CompletedTask;
        foreach (TimeSpan bad in new[] { TimeSpan.FromTicks(-1), TimeSpan.FromMilliseconds(-2), TimeSpan.MaxValue })
        {
            RuntimeOptions options = new() { GracePeriod = bad };
            Assert.Throws<ArgumentOutOfRangeException>("GracePeriod", () => new DirectRuntime(options));
            Assert.Throws<ArgumentOutOfRangeException>("GracePeriod", () => new ConcurrentRuntime(1, options));
            Assert.Throws<ArgumentOutOfRangeException>("GracePeriod", () => new ParallelRuntime(1, options));
        }

        Assert.Throws<ArgumentOutOfRangeException>("TotalConcurrency", () => new ConcurrentRuntime(1, new RuntimeOptions { TotalConcurrency = 0 }));
        Assert.Throws<ArgumentException>(
            "ConcurrencyLimit", () => new DirectRuntime(new RuntimeOptions { TotalConcurrency = 1, ConcurrencyLimit = new(1) }));
        RuntimeOptions noClock = new() { TimeProvider = null! };
        Assert.Throws<ArgumentNullException>("TimeProvider", () => new DirectRuntime(noClock));
        Assert.Throws<ArgumentNullException>("TimeProvider", () => new ConcurrentRuntime(1, noClock));
        Assert.Throws<ArgumentNullException>("TimeProvider", () => new ParallelRuntime(1, noClock));
        Assert.Throws<ArgumentNullException>("TimeProvider", () => new AutoRuntime(1, 1, noClock));
        Assert.Throws<ArgumentOutOfRangeException>("maxConcurrencyPerCall", () => new AutoRuntime(0));
        Assert.Throws<ArgumentOutOfRangeException>("maxThreads", () => new AutoRuntime(1, 0));
    }

    [Fact(Timeout = 90_000)]
    public async Task Constructor_Defaults_AreThoseOfTheDocumentation()
    {
        await using DirectRuntime direct = new();
        await using ConcurrentRuntime concurrent = new();
        await using ParallelRuntime parallel = new();
        Assert.Equal(100, concurrent.ConcurrencyPerCall);
        Assert.Equal(Environment.ProcessorCount, parallel.Workers);
        await using AutoRuntime auto = new();
        Assert.Equal((200, Environment.ProcessorCount), (auto.MaxConcurrencyPerCall, auto.MaxThreads));
        Assert.Equal(["direct", "concurrent", "parallel", "auto"], new IExecutionRuntime[] { direct, concurrent, parallel, auto }.Select(static r => r.Name));
    }
}
