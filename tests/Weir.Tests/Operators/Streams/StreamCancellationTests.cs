using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Operators.Streams;

/// <summary>Does the step after a cancellation throw, whatever lies ready and whether or not the run has ended?</summary>
public class StreamCancellationTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Cancel_ResultsLieReady_NoneIsHandedOutAnyMore(OperatorFamily family, SourceKind kind)
    {
        foreach ((int at, bool enumeration) in new[] { (10, false), (10, true), (1_000, false), (1_000, true) })
        {
            using CancellationTokenSource stop = new();
            TestSource source = TestSource.Of(kind, 1_000);
            await CancelsAsync(
                family.Open(source, Selectors.Twice, new() { MaxDegreeOfParallelism = 2 }, enumeration ? default : stop.Token), at, stop, enumeration)
                    .WithinAsync();
            source.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_OutcomesLieReady_NoneIsHandedOutAnyMore(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach ((int at, bool enumeration) in new[] { (10, false), (10, true), (1_000, false), (1_000, true) })
        {
            foreach (bool ordered in new[] { false, true })
            {
                using CancellationTokenSource stop = new();
                CancellationToken call = enumeration ? default : stop.Token;
                await CancelsAsync(
                    runtime.ProcessManyStreamAsync(RuntimeRun.Count(1_000), Selectors.Twice, ordered, null, call), at, stop, enumeration).WithinAsync();
                await CancelsAsync(
                    runtime.ProcessManyStreamAsync(RuntimeRun.Count(1_000).PartitionBy(static x => x % 9), Selectors.Twice, ordered, null, call),
                    at,
                    stop,
                    enumeration,
                    isCancelled: true).WithinAsync();
            }
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Cancel_AfterTheFirstFailure_DoesNotHideIt(OperatorFamily family, SourceKind kind)
    {
        using CancellationTokenSource stop = new();
        IAsyncEnumerable<int> stream = family.Open(
            TestSource.Of(kind, 100),
            static (item, _) => Selectors.ThrowHere(item),
            new()
            {
                MaxDegreeOfParallelism = 2,
                OnErrorAsync = async (_, _) =>
                {
                    await stop.CancelAsync();
                    return true;
                },
            },
            stop.Token);
        await Assert.ThrowsAsync<TestException>(() => OperatorRunner.GatherAsync(stream).WithinAsync());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Cancel_AfterTheEndWasTold_ChangesNothing(OperatorFamily family, SourceKind kind)
    {
        using CancellationTokenSource stop = new();
        await using IAsyncEnumerator<int> stream = family.Open(TestSource.Of(kind, 3), Selectors.Twice, null, stop.Token).GetAsyncEnumerator();
        while (await stream.MoveNextAsync().WithinAsync())
        {
        }

        await stop.CancelAsync();
        Assert.False(await stream.MoveNextAsync().WithinAsync());
    }

    /// <summary>Takes so many results, then cancels, and takes no more.</summary>
    private static async Task CancelsAsync<T>(IAsyncEnumerable<T> stream, int at, CancellationTokenSource stop, bool enumeration, bool isCancelled = false)
    {
        int taken = 0;
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
        {
            await foreach (T _ in stream.WithCancellation(enumeration ? stop.Token : default))
            {
                if (++taken == at)
                {
                    await stop.CancelAsync();
                }
            }
        });
        Assert.Equal(isCancelled ? 0 : at, taken);
        Assert.Equal(stop.Token, e.CancellationToken);
    }
}
