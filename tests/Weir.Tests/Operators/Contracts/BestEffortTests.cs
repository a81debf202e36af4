using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does BestEffort drop what failed, keep the rest, and keep no exception?</summary>
public class BestEffortTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Failures_OfSomeItems_AreLeftOut(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 300);
        List<int> results = await family.RunAsync(
            source,
            static (item, _) => (item % 10) switch
            {
                0 => Selectors.ThrowHere(item),
                5 => Selectors.ThrowHereAfterYield(item),
                1 => Selectors.TwiceAfterYield(item, default),
                _ => new(item * 2),
            },
            new() { MaxDegreeOfParallelism = 4, ErrorMode = ErrorMode.BestEffort }).WithinAsync();
        if (!family.IsOrdered())
        {
            results.Sort();
        }

        Assert.Equal(Enumerable.Range(0, 300).Where(static i => i % 5 != 0).Select(static i => i * 2), results);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Failures_OfAllItems_GiveNothing(OperatorFamily family, SourceKind kind) =>
        Assert.Empty(await family.RunAsync(
            TestSource.Of(kind, 40),
            static (item, _) => item % 2 == 0 ? Selectors.ThrowHere(item) : Selectors.ThrowHereAfterYield(item),
            new() { MaxDegreeOfParallelism = 3, ErrorMode = ErrorMode.BestEffort }).WithinAsync());

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.UnboundedStreams))]
    public async Task Failures_OfAnOpenStream_KeepNoException(OperatorFamily family, SourceKind kind)
    {
        List<WeakReference> errors = [];
        IAsyncEnumerable<int> stream = family.Open(
            TestSource.Endless(kind),
            (item, _) => item % 10 == 9 ? new(item) : Fail(),
            new() { MaxDegreeOfParallelism = 2, ErrorMode = ErrorMode.BestEffort, ChannelCapacity = 2 });
        IAsyncEnumerator<int> enumerator = stream.GetAsyncEnumerator();
        for (int i = 0; i < 10; i++)
        {
            Assert.True(await enumerator.MoveNextAsync().WithinAsync());
        }

        WeakReference[] early;
        lock (errors)
        {
            early = [.. errors.Take(40)];
        }

        Assert.Equal(40, early.Length);
        await Leak.GoneAsync(early, "the exceptions of failed items while the stream is open");
        await enumerator.DisposeAsync().WithinAsync();

        async ValueTask<int> Fail()
        {
            TestException error = new(new string('x', 1_000));
            lock (errors)
            {
                errors.Add(new WeakReference(error));
            }

            await Task.Yield();
            throw error;
        }
    }
}
