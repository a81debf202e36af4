using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does a source that throws end the run at once, in every mode, with its own exception?</summary>
public class SourceFailureTests
{
    private static readonly SourceKind[] Disposable = [.. Cases.Recorded.Except([SourceKind.Channel])];

    public static PairwiseTheoryData<OperatorFamily, SourceKind, ErrorMode> DisposableModes() => new(Cases.Families, Disposable, Cases.Modes);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllRecordedModes))]
    public async Task Step_Throws_IsThrownWithItsOwnStack(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 1_000, ThrowsAt = 100 });
        Task<List<int>> running = family.RunAsync(source, Selectors.Twice, new() { MaxDegreeOfParallelism = 3, ErrorMode = mode });
        Exception error = await FailureAsync(family, mode, running);
        Assert.Equal("step", Assert.IsType<TestException>(error).Message);
        Assert.Contains("ThrowAtStep", error.StackTrace, StringComparison.Ordinal);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllRecordedModes))]
    public async Task Step_ThrowsWhileItemsRun_CancelsThemAndStartsNothing(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 1_000, ThrowsAt = 3 });
        ConcurrencyProbe probe = new();
        int hooks = 0;
        Task<List<int>> running = family.RunAsync(
            source,
            (item, token) => probe.StayAsync(item, token),
            new() { MaxDegreeOfParallelism = 8, ErrorMode = mode, OnErrorAsync = (_, _) => new(Interlocked.Increment(ref hooks) > 0) });
        Exception error = await FailureAsync(family, mode, running);
        Assert.IsType<TestException>(error);
        Assert.InRange(probe.Entered, 0, 3);
        Assert.Equal(0, probe.Inside);
        Assert.Equal(0, hooks);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(DisposableModes))]
    public async Task Open_Throws_IsThrown(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 10, ThrowsOnOpen = true });
        Exception error = await FailureAsync(family, mode, family.RunAsync(source, Selectors.Twice, new() { ErrorMode = mode }));
        Assert.Equal("open", Assert.IsType<TestException>(error).Message);
        Assert.Equal(0, source.Record.Reads);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(DisposableModes))]
    public async Task Dispose_Throws_IsThrown(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 10, ThrowsOnClose = true });
        Exception error = await FailureAsync(family, mode, family.RunAsync(source, Selectors.Twice, new() { ErrorMode = mode }));
        Assert.Equal("close", Assert.IsType<TestException>(error).Message);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(DisposableModes))]
    public async Task Dispose_ThrowsAfterACancellation_DoesNotHideIt(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        using CancellationTokenSource stop = new();
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 1_000, ThrowsOnClose = true });
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) =>
            {
                if (item == 5)
                {
                    stop.Cancel();
                }

                return new(item);
            },
            new() { ErrorMode = mode },
            stop.Token);
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync());
        Assert.Equal(stop.Token, e.CancellationToken);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllRecorded))]
    public async Task Step_ThrowsAfterFailedItems_IsTheLastFailure(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 1_000, ThrowsAt = 50 });
        Task<List<int>> running = family.RunAsync(
            source,
            static (item, _) => item == 1 ? Selectors.ThrowHere(item) : new(item),
            new() { MaxDegreeOfParallelism = 1, ErrorMode = ErrorMode.CollectAndContinue });
        if (family == OperatorFamily.Outcomes)
        {
            await Assert.ThrowsAsync<TestException>(() => running.WithinAsync());
            return;
        }

        ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
        Assert.Equal([1L, -1L], e.Failures.Select(static f => f.Index));
        Assert.Equal(["item 1", "step"], e.Failures.Select(static f => f.Error.Message));
    }

    private static async Task<Exception> FailureAsync(OperatorFamily family, ErrorMode mode, Task running)
    {
        Exception e = await Assert.ThrowsAnyAsync<Exception>(() => running.WithinAsync());
        if (mode != ErrorMode.CollectAndContinue || family == OperatorFamily.Outcomes)
        {
            return e;
        }

        ItemFailure failure = Assert.Single(Assert.IsAssignableFrom<ItemsFailedException>(e).Failures);
        Assert.Equal(-1, failure.Index);
        return failure.Error;
    }
}
