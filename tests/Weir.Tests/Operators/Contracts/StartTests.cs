using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does a call return at once, and does it leave the source alone until it has to read?</summary>
public class StartTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.RecordedStreams))]
    public async Task Stream_BeforeTheFirstStep_ReadsAndRunsNothing(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 10);
        int calls = 0;
        IAsyncEnumerable<int> stream = family.Open(source, (item, _) => new(Interlocked.Increment(ref calls) + item));
        IAsyncEnumerator<int> enumerator = stream.GetAsyncEnumerator();
        await Guard.SettleAsync();
        Assert.Equal(0, source.Record.Opened);
        Assert.Equal(0, source.Record.Reads);
        Assert.Equal(0, calls);
        Assert.True(await enumerator.MoveNextAsync().WithinAsync());
        await enumerator.DisposeAsync().WithinAsync();
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllRecorded))]
    public async Task Call_SourceThatBlocks_ReturnsTheTaskAtOnce(OperatorFamily family, SourceKind kind)
    {
        using Gate gate = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 5, WaitsAt = 0, Gate = gate });
        Task<List<int>> running = family.RunAsync(source, Selectors.Twice);
        Assert.False(running.IsCompleted);
        gate.Open();
        Assert.Equal(5, (await running.WithinAsync()).Count);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Call_SelectorThatBlocks_ReturnsTheTaskAtOnce(OperatorFamily family, SourceKind kind)
    {
        using Gate gate = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 3),
            (item, _) =>
            {
                gate.Wait();
                return new(item);
            });
        Assert.False(running.IsCompleted);
        gate.Open();
        Assert.Equal(3, (await running.WithinAsync()).Count);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllRecorded))]
    public async Task Run_SlowItems_ReadsNoFurtherThanItsWorkers(OperatorFamily family, SourceKind kind)
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        TestSource source = TestSource.Of(kind, 1_000);
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) => probe.StayAsync(item, gate),
            new() { MaxDegreeOfParallelism = 3 });
        await probe.InsideAsync(3);
        await Guard.SettleAsync();

        // A channel is asked twice for an item that is not there yet.
        Assert.InRange(source.Record.Reads, 3, kind == SourceKind.Channel ? 6 : 3);
        gate.Open();
        Assert.Equal(1_000, (await running.WithinAsync()).Count);
    }
}
