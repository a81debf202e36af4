using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Policies by key: one server that is down or slow stops its own items and no others.</summary>
public sealed class KeyedPolicyTests : IDisposable
{
    private const int Servers = 20;

    private readonly ManualTimeProvider _time = new();
    private readonly Gate _gate = new();

    public static TheoryData<OperatorFamily> Families { get; } =
        [.. Enum.GetValues<OperatorFamily>().Where(static f => f is not (OperatorFamily.BatchList or OperatorFamily.BatchStream))];

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Families))]
    public async Task OneServerIsDown_TheOthersGoOn(OperatorFamily family)
    {
        CircuitBreakers breakers = CircuitBreakers.ByKey<int, int>(
            static item => item % Servers, new CircuitBreakerOptions { FailureThreshold = 3, TimeProvider = _time });
        int callsToThree = 0;
        List<int> results = await family.RunAsync(
            TestSource.Of(SourceKind.Lazy, Servers * 20),
            async (item, token) =>
            {
                if (item % Servers == 3)
                {
                    Interlocked.Increment(ref callsToThree);
                    throw new TestException("down");
                }

                await Task.Yield();
                return item;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, CircuitBreaker = breakers, ErrorMode = ErrorMode.BestEffort }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, Servers * 20).Where(static i => i % Servers != 3), results.Order());
        Assert.Equal(3, callsToThree);
        Assert.Equal(Servers, breakers.Count);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task OneServerHangs_ItsLimitKeepsTheOthersGoing(bool timed)
    {
        ConcurrencyLimits limits = ConcurrencyLimits.ByKey<int, int>(static item => item % Servers, 1);
        int done = 0;
        ConcurrencyProbe hanging = new();
        Task<List<int>> run = Enumerable.Range(0, Servers * 10).SelectParallelAsync(
            async (item, token) =>
            {
                if (item % Servers == 3)
                {
                    using (hanging.Enter())
                    {
                        await _gate.WaitAsync(token);
                    }
                }
                else
                {
                    await Task.Yield();
                    Interlocked.Increment(ref done);
                }

                return item;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, ConcurrencyLimit = limits, PerItemTimeout = timed ? TimeSpan.FromMinutes(5) : null });
        await Guard.UntilAsync(() => Volatile.Read(ref done) == (Servers - 1) * 10, "the items of all other servers");
        await hanging.InsideAsync(1);
        Assert.Equal(1, hanging.Most);
        _gate.Open();
        Assert.Equal(Enumerable.Range(0, Servers * 10), await run.WithinAsync());
        Assert.Equal(1, hanging.Most);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_ByKey_HoldsOverSeveralRuns()
    {
        ConcurrencyLimits limits = ConcurrencyLimits.ByKey<int, string>(
            static item => (item % 3) switch { 0 => "a", 1 => "b", _ => "c" }, 2, comparer: StringComparer.Ordinal);
        ConcurrencyProbe[] probes = [new(), new(), new()];
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Enumerable.Range(0, 60).ForEachParallelAsync(
            async (item, token) =>
            {
                using (probes[item % 3].Enter())
                {
                    await Task.Yield();
                }
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 8, ConcurrencyLimit = limits }))).WithinAsync();
        Assert.All(probes, static probe => Assert.InRange(probe.Most, 1, 2));
        Assert.All(probes, static probe => Assert.Equal(80, probe.Entered));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Circuit_ByKey_WaitsForItsOwnServer()
    {
        CircuitBreakers breakers = CircuitBreakers.ByKey<int, int>(
            static item => item % 2,
            new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = TimeSpan.FromSeconds(10), TimeProvider = _time });
        bool down = true;
        int done = 0;
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 20).SelectParallelOutcomesAsync(
            (item, _) =>
            {
                if (item % 2 == 1 && Volatile.Read(ref down))
                {
                    throw new TestException("down");
                }

                Interlocked.Increment(ref done);
                return new ValueTask<int>(item);
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                CircuitBreaker = breakers,
                OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
                TimeProvider = _time,
            });
        await Guard.UntilAsync(() => Volatile.Read(ref done) == 10 && _time.ArmedTimers > 0, "all items of the other server");
        Volatile.Write(ref down, false);
        _time.Advance(TimeSpan.FromSeconds(10));
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.Equal(1, outcomes.Count(static o => !o.IsSuccess));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Key_Throws_IsTheItemsFailure(int kind)
    {
        static int KeyOf(int item) => item == 1 ? throw new TestException("key") : item;
        ParallelRunOptions options = kind switch
        {
            0 => new() { CircuitBreaker = CircuitBreakers.ByKey<int, int>(KeyOf) },
            1 => new() { ConcurrencyLimit = ConcurrencyLimits.ByKey<int, int>(KeyOf, 1) },
            _ => new() { RateLimit = RateLimits.ByKey<int, int>(KeyOf) },
        };
        ItemOutcome<int, int>[] outcomes = await new[] { 0, 1, 2 }.SelectParallelOutcomesAsync(static (x, _) => new ValueTask<int>(x), options).WithinAsync();
        Assert.Equal([true, false, true], outcomes.Select(static o => o.IsSuccess));
        Assert.IsType<TestException>(outcomes[1].Error);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Keys_OfBaseTypes_AreAccepted_OthersAreRefusedAtTheCall()
    {
        ParallelRunOptions options = new() { CircuitBreaker = CircuitBreakers.ByKey<object, object>(static item => item) };
        Assert.Equal(["a"], await new[] { "a" }.SelectParallelAsync(static (x, _) => new ValueTask<string>(x), options).WithinAsync());
        ArgumentException error = Assert.Throws<ArgumentException>(() =>
        {
            _ = new[] { 1 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x), options);
        });
        Assert.Equal("CircuitBreaker", error.ParamName);
        Assert.Throws<ArgumentException>(() => { _ = new[] { 1 }.ForEachParallelAsync(static (_, _) => default, options); });
        Assert.Throws<ArgumentException>(() => { _ = new[] { 1 }.SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x), options); });
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Key_ThatChangesBetweenAttempts_LeavesNothingBehind()
    {
        int calls = 0;
        ConcurrencyLimits limits = ConcurrencyLimits.ByKey<int, int>(_ => Interlocked.Increment(ref calls) % 3, 1);
        for (int round = 0; round < 20; round++)
        {
            Assert.Equal(Enumerable.Range(0, 50), await Enumerable.Range(0, 50).SelectParallelAsync(
                static async (x, _) =>
                {
                    await Task.Yield();
                    return x;
                },
                new ParallelRunOptions { MaxDegreeOfParallelism = 4, ConcurrencyLimit = limits }).WithinAsync());
        }
    }
}
