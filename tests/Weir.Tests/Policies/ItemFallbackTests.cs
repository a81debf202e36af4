using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>A fallback that wants the item gets it, with its index, its last attempt and the exception, whatever the item failed with.</summary>
public sealed class ItemFallbackTests : IDisposable
{
    private readonly Gate _gate = new();

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task Items_ThatFail_GiveWhatTheFallbackMakesOfThem(bool lazy, bool waits)
    {
        IEnumerable<int> items = Enumerable.Range(0, 40);
        string Told(ItemAttempt<int> attempt) => $"{attempt.Item} {attempt.Index} {attempt.Attempt} {attempt.Error!.GetType().Name}";
        List<string> results = await (lazy ? items.Where(static i => i >= 0) : items.ToArray()).SelectParallelAsync(
            async (item, _) =>
            {
                if (waits)
                {
                    await Task.Yield();
                }

                return (item % 4) switch
                {
                    1 => throw new TimeoutException(),
                    2 => throw new TestException("item"),
                    _ => "fine",
                };
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 3,
                MaxRetries = 2,
                BaseDelay = TimeSpan.Zero,
                OnFallback = waits
                    ? Fallback.OfAsync<int, string>(async attempt =>
                    {
                        await Task.Yield();
                        return Told(attempt);
                    })
                    : Fallback.Of<int, string>(Told),
            }).WithinAsync("the run");
        Assert.Equal(
            Enumerable.Range(0, 40).Select(static i => (i % 4) switch
            {
                1 => $"{i} {i} 3 TimeoutException",
                2 => $"{i} {i} 1 TestException",
                _ => "fine",
            }),
            results);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Item_ThatWasGivenUpOrRefused_ComesToTheFallbackToo()
    {
        Fallback fallback = Fallback.Of<string, string>(static attempt => $"{attempt.Item}: {attempt.Error!.InnerException?.GetType().Name}");
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, PerItemTimeout = TimeSpan.FromMilliseconds(50), OnFallback = fallback };
        List<string> late = await new[] { "blocks", "waits" }.SelectParallelAsync(
            async (item, _) =>
            {
                if (item == "blocks")
                {
                    _gate.Wait(CancellationToken.None);
                }

                await _gate.WaitAsync(CancellationToken.None);
                return item;
            },
            options).WithinAsync("the run");
        Assert.Equal(["blocks: ItemTimeoutException", "waits: ItemTimeoutException"], late);
        _gate.Open();

        CircuitBreaker open = new(new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromDays(1) });
        open.TryEnter(out CircuitTicket ticket);
        open.Failed(ticket);
        List<string> refused = await new[] { "one" }.SelectParallelAsync(
            static (item, _) => new ValueTask<string>(item), new ParallelRunOptions { CircuitBreaker = open, OnFallback = fallback });
        Assert.Equal(["one: "], refused);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Fallback_OfOtherItems_IsRefusedAtTheCall()
    {
        ParallelRunOptions options = new() { OnFallback = Fallback.Of<string, int>(static _ => 0) };
        ArgumentException refused = Assert.Throws<ArgumentException>(
            "OnFallback", () => { _ = new[] { 1 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x), options); });
        Assert.Contains("items of type String, but the items here are of type Int32", refused.Message, StringComparison.Ordinal);
        List<int> batches = await new[] { 1, 2, 3 }.BatchParallelAsync(
            2,
            static (_, _) => ValueTask.FromException<int>(new TestException("batch")),
            new ParallelRunOptions { OnFallback = Fallback.Of<IReadOnlyList<int>, int>(static attempt => attempt.Item.Sum()) });
        Assert.Equal([3, 3], batches);
        Assert.Throws<ArgumentNullException>("result", static () => Fallback.Of<int, int>(null!));
        Assert.Throws<ArgumentNullException>("result", static () => Fallback.OfAsync<int, int>(null!));
    }
}
