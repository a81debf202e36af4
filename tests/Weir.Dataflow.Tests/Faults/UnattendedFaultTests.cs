#if DEBUG
using Weir.Dataflow.Cores;
using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Faults;

/// <summary>
/// Where a block works on a thread on which no caller is above it, it may run out of memory. Each network here fails at the first such place that it passes,
/// then at the second, and so on: everybody who waits for something learns what became of it, no message is lost without anybody being told, and no exception
/// leaves its thread.
/// </summary>
[Collection(nameof(WithoutOthers))]
public sealed class UnattendedFaultTests : IDisposable
{
    private static readonly (string File, string Text)[] Unreached =
    [
        // A message found no memory, which no fault here brings about.
        ("TargetCore.cs", "work.AfterLock()"),
    ];

    private readonly FaultPlaces _places = new();

    public static TheoryData<string, int> Networks() => [.. FaultNetworks.All.Keys.SelectMany(static n => new[] { (n, 1), (n, 2) })];

    public void Dispose() => _places.Dispose();

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Networks))]
    public async Task Network_FailsAtAnyPlace_EndsAndTellsWhy(string network, int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 100; at++)
        {
            Books books = new();
            _places.FailAt(at, failures);
            Task ended = FaultNetworks.All[network](books);
            await Eventually.Status(ended);
            failed = _places.HasFailed;
            string about = $"after a fault at {_places.Failed}, the {at}th place";
            _places.Pass();
            Assert.True(ended.IsCompleted, $"It does not end {about}: {books.Open}.");
            await ended;
            if (books.Errors.Count == 0)
            {
                Assert.True(
                    books.Accepted.SequenceEqual(books.Delivered),
                    $"Lost without a word {about}: {string.Join(' ', books.Accepted.Except(books.Delivered))}.");
            }
            else if (!failed && !network.StartsWith("Cancelled", StringComparison.Ordinal))
            {
                Assert.Fail(books.Errors.First().ToString());
            }
        }

        // The others go on.
        Books others = new();
        await FaultNetworks.All["Line on the pool"](others).WithinAsync();
        Assert.Empty(others.Errors);
        Assert.Equal(others.Accepted, others.Delivered);
    }

    [Fact(Timeout = 300_000)]
    public async Task Places_OfTheSources_AreThoseThatAreTested()
    {
        Assert.Empty(await _places.MissedAsync(FaultPlaces.InSources("Weir.Dataflow", Unreached), static async () =>
        {
            foreach (Func<Books, Task> network in FaultNetworks.All.Values)
            {
                await network(new Books()).WithinAsync();
            }
        }));
    }
}
#endif
