using System.Threading.Channels;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Is a wrong argument refused at the call itself, by its name?</summary>
public class ArgumentTests
{
    private static readonly SourceKind[] Overloads = [SourceKind.Array, SourceKind.AsyncImmediate, SourceKind.Channel];

    private static readonly Dictionary<string, (ParallelRunOptions Options, string Name)> Wrong = new()
    {
        ["limit 0"] = (new() { MaxDegreeOfParallelism = 0 }, nameof(ParallelRunOptions.MaxDegreeOfParallelism)),
        ["limit -1"] = (new() { MaxDegreeOfParallelism = -1 }, nameof(ParallelRunOptions.MaxDegreeOfParallelism)),
        ["capacity 0"] = (new() { ChannelCapacity = 0 }, nameof(ParallelRunOptions.ChannelCapacity)),
        ["capacity -1"] = (new() { ChannelCapacity = -1 }, nameof(ParallelRunOptions.ChannelCapacity)),
        ["timeout 0"] = (new() { PerItemTimeout = TimeSpan.Zero }, nameof(ParallelRunOptions.PerItemTimeout)),
        ["timeout -1"] = (new() { PerItemTimeout = TimeSpan.FromTicks(-1) }, nameof(ParallelRunOptions.PerItemTimeout)),
        ["timeout -2 ms"] = (new() { PerItemTimeout = TimeSpan.FromMilliseconds(-2) }, nameof(ParallelRunOptions.PerItemTimeout)),
        ["timeout too long"] = (new() { PerItemTimeout = TimeSpan.MaxValue }, nameof(ParallelRunOptions.PerItemTimeout)),
        ["total timeout 0"] = (new() { TotalTimeout = TimeSpan.Zero }, nameof(ParallelRunOptions.TotalTimeout)),
        ["total timeout too long"] = (new() { TotalTimeout = TimeSpan.MaxValue }, nameof(ParallelRunOptions.TotalTimeout)),
        ["mode 3"] = (new() { ErrorMode = (ErrorMode)3 }, nameof(ParallelRunOptions.ErrorMode)),
        ["mode -1"] = (new() { ErrorMode = (ErrorMode)(-1) }, nameof(ParallelRunOptions.ErrorMode)),
        ["retries -1"] = (new() { MaxRetries = -1 }, nameof(ParallelRunOptions.MaxRetries)),
        ["delay -1 s"] = (new() { BaseDelay = TimeSpan.FromSeconds(-1) }, nameof(ParallelRunOptions.BaseDelay)),
        ["longest delay 0"] = (new() { Retry = new() { BaseDelay = TimeSpan.FromSeconds(1), MaxDelay = TimeSpan.Zero } }, nameof(RetryOptions.MaxDelay)),
        ["backoff 77"] = (new() { BackoffStrategy = (BackoffStrategy)77 }, nameof(ParallelRunOptions.BackoffStrategy)),
        ["attempt timeout 0"] = (new() { AttemptTimeout = TimeSpan.Zero }, nameof(ParallelRunOptions.AttemptTimeout)),
        ["failures 0"] = (new() { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 0 } }, nameof(CircuitBreakerOptions.FailureThreshold)),
        ["open for ever"] =
            (new() { CircuitBreaker = new CircuitBreakerOptions { OpenTimeout = Timeout.InfiniteTimeSpan } }, nameof(CircuitBreakerOptions.OpenTimeout)),
        ["rate 0"] = (new() { RateLimit = new RateLimitOptions { TokensPerSecond = 0 } }, nameof(RateLimitOptions.TokensPerSecond)),
        ["reports 0"] = (new() { Progress = new() { ReportInterval = TimeSpan.Zero } }, nameof(ProgressOptions.ReportInterval)),
        ["report's time -1 s"] = (new() { Progress = new() { CallbackTimeout = TimeSpan.FromSeconds(-1) } }, nameof(ProgressOptions.CallbackTimeout)),
        ["samples 0"] = (new() { Metrics = new() { SampleInterval = TimeSpan.Zero } }, nameof(MetricsOptions.SampleInterval)),
        ["samples too rare"] = (new() { Metrics = new() { SampleInterval = TimeSpan.MaxValue } }, nameof(MetricsOptions.SampleInterval)),
        ["sample's time 0"] = (new() { Metrics = new() { CallbackTimeout = TimeSpan.Zero } }, nameof(MetricsOptions.CallbackTimeout)),
    };

    public static PairwiseTheoryData<OperatorFamily, SourceKind, string> WrongOptions() => new(Cases.Families, Overloads, Wrong.Keys);

    public static MatrixTheoryData<OperatorFamily, SourceKind> Calls() => new(Cases.Families, Overloads);

    [Theory]
    [FewOf(nameof(WrongOptions))]
    public void Call_WrongOption_ThrowsAtTheCallWithThePropertysName(OperatorFamily family, SourceKind kind, string which)
    {
        TestSource source = TestSource.Of(kind, 3);
        ArgumentOutOfRangeException e = Assert.Throws<ArgumentOutOfRangeException>(
            () => CallOnly(family, source, Selectors.Twice, Wrong[which].Options));
        Assert.Equal(Wrong[which].Name, e.ParamName);
        Assert.Contains(Wrong[which].Name, e.Message, StringComparison.Ordinal);
        Assert.Equal(0, source.Record.Reads);
    }

    [Theory]
    [MemberData(nameof(Calls))]
    public void Call_NullClock_ThrowsAtTheCall(OperatorFamily family, SourceKind kind)
    {
        ArgumentNullException e = Assert.Throws<ArgumentNullException>(
            () => CallOnly(family, TestSource.Of(kind, 3), Selectors.Twice, new() { TimeProvider = null! }));
        Assert.Equal(nameof(ParallelRunOptions.TimeProvider), e.ParamName);
    }

    [Theory]
    [MemberData(nameof(Calls))]
    public void Call_NullSelector_ThrowsAtTheCall(OperatorFamily family, SourceKind kind)
    {
        ArgumentNullException e = Assert.Throws<ArgumentNullException>(() => CallOnly(family, TestSource.Of(kind, 3), null, null));
        Assert.Equal(
            family switch
            {
                OperatorFamily.ForEach => "action",
                OperatorFamily.BatchList or OperatorFamily.BatchStream => "batchSelector",
                _ => "selector",
            },
            e.ParamName);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(int.MinValue)]
    public void Call_BatchSizeBelowOne_ThrowsAtTheCall(int size)
    {
        foreach (SourceKind kind in Overloads)
        {
            TestSource source = TestSource.Of(kind, 3);
            Assert.Equal("batchSize", Assert.Throws<ArgumentOutOfRangeException>(() => Ignore(source.BatchListAsync(size, Count))).ParamName);
            Assert.Equal("batchSize", Assert.Throws<ArgumentOutOfRangeException>(() => Ignore(source.BatchStream(size, Count))).ParamName);
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    public void Call_BatchTimeoutNotAboveZero_ThrowsAtTheCall(int ticks)
    {
        foreach (SourceKind kind in Overloads)
        {
            TestSource source = TestSource.Of(kind, 3);
            Assert.Equal(
                "batchTimeout",
                Assert.Throws<ArgumentOutOfRangeException>(() => Ignore(source.BatchStream(2, Count, null, TimeSpan.FromTicks(ticks)))).ParamName);
        }
    }

    [Fact]
    public void Call_NullSource_ThrowsAtTheCall()
    {
        IEnumerable<int> sequence = null!;
        IAsyncEnumerable<int> stream = null!;
        ChannelReader<int> channel = null!;
        Action[] calls =
        [
            () => Ignore(sequence.SelectParallelAsync(Selectors.Twice)),
            () => Ignore(stream.SelectParallelAsync(Selectors.Twice)),
            () => Ignore(channel.SelectParallelAsync(Selectors.Twice)),
            () => Ignore(sequence.SelectParallelStreamAsync(Selectors.Twice)),
            () => Ignore(stream.SelectParallelStreamAsync(Selectors.Twice)),
            () => Ignore(channel.SelectParallelStreamAsync(Selectors.Twice)),
            () => Ignore(sequence.ForEachParallelAsync(static (_, _) => default)),
            () => Ignore(stream.ForEachParallelAsync(static (_, _) => default)),
            () => Ignore(channel.ForEachParallelAsync(static (_, _) => default)),
            () => Ignore(sequence.BatchParallelAsync(1, Count)),
            () => Ignore(stream.BatchParallelAsync(1, Count)),
            () => Ignore(channel.BatchParallelAsync(1, Count)),
            () => Ignore(sequence.BatchParallelStreamAsync(1, Count)),
            () => Ignore(stream.BatchParallelStreamAsync(1, Count)),
            () => Ignore(channel.BatchParallelStreamAsync(1, Count)),
            () => Ignore(sequence.SelectParallelOutcomesAsync(Selectors.Twice)),
            () => Ignore(stream.SelectParallelOutcomesAsync(Selectors.Twice)),
            () => Ignore(channel.SelectParallelOutcomesAsync(Selectors.Twice)),
        ];
        Assert.All(calls, static call => Assert.Equal("source", Assert.Throws<ArgumentNullException>(call).ParamName));
    }

    private static ValueTask<int> Count(IReadOnlyList<int> batch, CancellationToken token) => new(batch.Count);

    /// <summary>Calls the operator, and neither awaits nor enumerates what it returns.</summary>
    private static void CallOnly(OperatorFamily family, TestSource source, Func<int, CancellationToken, ValueTask<int>>? selector, ParallelRunOptions? options)
    {
        Func<IReadOnlyList<int>, CancellationToken, ValueTask<int>>? batchSelector = selector is null ? null : Count;
        Func<int, CancellationToken, ValueTask>? action = selector is null ? null : static (_, _) => default;
        switch (family)
        {
            case OperatorFamily.List:
                Ignore(source.ListAsync(selector!, options, default));
                break;
            case OperatorFamily.ForEach:
                Ignore(source.Sequence?.ForEachParallelAsync(action!, options)
                    ?? source.AsyncSequence?.ForEachParallelAsync(action!, options)
                    ?? source.Channel!.ForEachParallelAsync(action!, options));
                break;
            case OperatorFamily.BatchList:
                Ignore(source.BatchListAsync(2, batchSelector!, options));
                break;
            case OperatorFamily.BatchStream:
                Ignore(source.BatchStream(2, batchSelector!, options));
                break;
            case OperatorFamily.Outcomes:
                Ignore(source.OutcomesAsync(selector!, options));
                break;
            default:
                Ignore(source.Stream(selector!, options));
                break;
        }
    }

    private static void Ignore(object result) => Assert.NotNull(result);
}
