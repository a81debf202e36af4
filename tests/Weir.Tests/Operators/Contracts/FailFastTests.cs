using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does the first failure, and only it, end a FailFast run?</summary>
public class FailFastTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failure_OfASynchronousItem_IsThrownAsItIs(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 100);
        Exception? thrown = null;
        TestException e = await Assert.ThrowsAsync<TestException>(() => family.RunAsync(
            source,
            (item, _) =>
            {
                try
                {
                    return item == 41 ? Selectors.ThrowHere(item) : new(item);
                }
                catch (TestException own)
                {
                    thrown = own;
                    throw;
                }
            },
            new() { MaxDegreeOfParallelism = 3 }).WithinAsync());
        Assert.Same(thrown, e);
        Assert.Equal("item 41", e.Message);
        Assert.Contains(nameof(Selectors.ThrowHere), e.StackTrace, StringComparison.Ordinal);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failure_OfASuspendedItem_StopsTheOthersAndStartsNothing(OperatorFamily family, SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, 1_000);
        ConcurrencyProbe probe = new();
        ConcurrentQueue<(int Index, Exception Error)> hooked = [];
        using Gate gate = new();

        // The first to begin, whichever it is: an item that is given back may never begin, if all workers have claimed later ones.
        int failing = -1;
        Task<List<int>> running = family.RunAsync(
            source,
            async (item, token) =>
            {
                using (probe.Enter())
                {
                    if (Interlocked.CompareExchange(ref failing, item, -1) != -1)
                    {
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }

                    await gate.WaitAsync();
                    return await Selectors.ThrowHereAfterYield(item);
                }
            },
            new()
            {
                MaxDegreeOfParallelism = 5,
                OnErrorAsync = (index, error) =>
                {
                    hooked.Enqueue((index, error));
                    return new(true);
                },
            });
        await probe.InsideAsync(5);
        gate.Open();
        TestException e = await Assert.ThrowsAsync<TestException>(() => running.WithinAsync());
        Assert.Contains(nameof(Selectors.ThrowHere), e.StackTrace, StringComparison.Ordinal);
        Assert.Equal([(failing, e)], hooked);
        Assert.Equal(5, probe.Entered);
        Assert.Equal(0, probe.Inside);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failure_OfManyAtOnce_ThrowsOneAndTellsTheHookOfThatOne(OperatorFamily family, SourceKind kind)
    {
        ConcurrentQueue<Exception> hooked = [];
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 8),
            async (item, _) =>
            {
                using (probe.Enter())
                {
                    await gate.WaitAsync();
                }

                return await Selectors.ThrowHere(item);
            },
            new()
            {
                MaxDegreeOfParallelism = 8,
                OnErrorAsync = (_, error) =>
                {
                    hooked.Enqueue(error);
                    return new(true);
                },
            });
        await probe.InsideAsync(8);
        gate.Open();
        TestException e = await Assert.ThrowsAsync<TestException>(() => running.WithinAsync());
        Assert.Same(e, Assert.Single(hooked));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task Failure_WithACancellationExceptionOfItsOwn_IsAFailure(OperatorFamily family)
    {
        int hooks = 0;
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 10),
            static (item, _) => item == 3 ? throw new OperationCanceledException("own") : new(item),
            new() { OnErrorAsync = (_, _) => new(Interlocked.Increment(ref hooks) > 0) });
        OperationCanceledException e = await Assert.ThrowsAsync<OperationCanceledException>(() => running.WithinAsync());
        Assert.Equal("own", e.Message);
        Assert.Equal(1, hooks);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task Failure_CancelsTheTokenOfTheOthersBeforeTheHookEnds(OperatorFamily family)
    {
        using Gate hook = new();
        using Gate cancelled = new();
        ConcurrencyProbe probe = new();
        using Gate start = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 2),
            async (item, token) =>
            {
                using (probe.Enter())
                {
                    await start.WaitAsync();
                    if (item == 0)
                    {
                        throw new TestException("first");
                    }

                    using CancellationTokenRegistration tell = token.Register(cancelled.Open);
                    await cancelled.WaitAsync();
                    return item;
                }
            },
            new()
            {
                MaxDegreeOfParallelism = 2,
                OnErrorAsync = async (_, _) =>
                {
                    await hook.WaitAsync();
                    return true;
                },
            });
        await probe.InsideAsync(2);
        start.Open();
        await cancelled.WaitAsync();
        Assert.False(running.IsCompleted);
        hook.Open();
        await Assert.ThrowsAsync<TestException>(() => running.WithinAsync());
    }
}
