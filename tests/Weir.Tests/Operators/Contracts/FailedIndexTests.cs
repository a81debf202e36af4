using System.Collections;
using System.Reflection;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does the exception of a FailFast run say which item it was, without another exception around it?</summary>
public class FailedIndexTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task IndexOf_SynchronousItemThrew_IsTheItems(OperatorFamily family, SourceKind kind)
    {
        TestException e = await Assert.ThrowsAsync<TestException>(() => family.RunAsync(
            TestSource.Of(kind, 100),
            static (item, _) => item == 41 ? Selectors.ThrowHere(item) : new(item),
            new() { MaxDegreeOfParallelism = 3 }).WithinAsync());
        Assert.Equal(41, ItemFailure.IndexOf(e));
        Assert.Equal([41], ItemFailure.PathOf(e));
        Assert.Equal("41", $"{e.Data[ItemFailure.DataKey]}");
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task IndexOf_SuspendedItemThrewAtItsLastAttempt_IsTheItems(OperatorFamily family, SourceKind kind)
    {
        int attempts = 0;
        TestException e = await Assert.ThrowsAsync<TestException>(() => family.RunAsync(
            TestSource.Of(kind, 20),
            async (item, _) =>
            {
                await Task.Yield();
                if (item != 7)
                {
                    return item;
                }

                Interlocked.Increment(ref attempts);
                throw new TestException($"attempt {attempts}");
            },
            new() { MaxDegreeOfParallelism = 3, MaxRetries = 2, IsTransient = static _ => true, BaseDelay = TimeSpan.Zero }).WithinAsync());
        Assert.Equal("attempt 3", e.Message);
        Assert.Equal([7], ItemFailure.PathOf(e));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task IndexOf_ItemPassedItsTimeLimit_IsTheItemsAndInTheMessage(OperatorFamily family)
    {
        ManualTimeProvider clock = new();
        bool hangs = false;

        // One at a time: when item 3 has begun, those before it have ended, and the clock can only be too late for this one.
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 6),
            async (item, token) =>
            {
                if (item == 3)
                {
                    Volatile.Write(ref hangs, true);
                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                }

                return item;
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = TimeSpan.FromSeconds(1), TimeProvider = clock });
        await clock.DriveAsync(running, TimeSpan.FromSeconds(1), () => Volatile.Read(ref hangs));
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running);
        Assert.Equal("Item 3 did not end within its time limit of 00:00:01.", e.Message);
        Assert.Equal(e.Message, Assert.IsType<ItemTimeoutException>(e.InnerException).Message);
        Assert.Equal(3, ItemFailure.IndexOf(e));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task PathOf_RunInsideAnItem_HasTheOuterIndexFirst(OperatorFamily family)
    {
        TestException e = await Assert.ThrowsAsync<TestException>(() => family.RunAsync(
            TestSource.Of(SourceKind.Lazy, 5),
            async (outer, token) => outer == 4
                ? (await family.RunAsync(
                    TestSource.Of(SourceKind.Lazy, 50), static (inner, _) => inner == 23 ? Selectors.ThrowHere(inner) : new(inner), token: token)).Count
                : outer,
            new() { MaxDegreeOfParallelism = 2 }).WithinAsync());
        Assert.Equal([4, 23], ItemFailure.PathOf(e));
        Assert.Equal(4, ItemFailure.IndexOf(e));
        Assert.Equal("4 > 23", $"{e.Data[ItemFailure.DataKey]}");
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task PathOf_InnerFailureWasWrapped_HasBoth()
    {
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(() => new[] { 0, 1, 2 }.SelectParallelAsync(
            async (outer, token) =>
            {
                try
                {
                    return (await new[] { 5, 6 }.SelectParallelAsync(
                        static (inner, _) => inner == 6 ? Selectors.ThrowHere(inner) : new(inner), null, token)).Count;
                }
                catch (TestException inner) when (outer == 2)
                {
                    throw new InvalidOperationException("outer", inner);
                }
                catch (TestException)
                {
                    return 0;
                }
            },
            new() { MaxDegreeOfParallelism = 1 }).WithinAsync());
        Assert.Equal([2, 1], ItemFailure.PathOf(e));
        Assert.Equal([2, 1], ItemFailure.PathOf(new AggregateException(e)));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task IndexOf_OneExceptionOfSeveralRuns_IsThatOfTheLastRun()
    {
        TestException shared = new("shared");
        foreach (int failing in (int[])[3, 1, 2])
        {
            await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, 5).ToArray().ForEachParallelAsync(
                (item, _) => item == failing ? ValueTask.FromException(shared) : default).WithinAsync());
            Assert.Equal([failing], ItemFailure.PathOf(shared));
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task IndexOf_OneExceptionOfSeveralItems_IsThatOfOneItem()
    {
        TestException shared = new("shared");
        await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, 50).ForEachParallelAsync(
            async (_, _) =>
            {
                await Task.Yield();
                throw shared;
            },
            new() { MaxDegreeOfParallelism = 8 }).WithinAsync());
        Assert.InRange(Assert.Single(ItemFailure.PathOf(shared)), 0, 49);
    }

    // What an exception carries is in the platform's own dictionary, which the explorer does not see.
    [Fact(Timeout = 60_000)]
    public async Task IndexOf_OneExceptionOfManyRunsAtOnce_EndsEachAsItWould()
    {
        TestException shared = new("shared");
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            for (int i = 0; i < 500; i++)
            {
                Assert.Same(shared, await Assert.ThrowsAsync<TestException>(() => new[] { 0, 1, 2 }.ForEachParallelAsync(
                    (item, _) => item == 1 ? ValueTask.FromException(shared) : default)));
            }
        }))).WithinAsync();
        Assert.InRange(ItemFailure.PathOf(shared).Count, 1, 16);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task IndexOf_DataThatAcceptsNothing_ThrowsTheExceptionAsItIs(int kind)
    {
        OddData odd = new(kind switch
        {
            0 => static () => throw new InvalidOperationException("no data"),
            1 => static () => null!,
            2 => static () => new ReadOnlyData(),
            _ => static () => new System.Collections.Specialized.ListDictionary(new Refusing()),
        });
        Assert.Same(odd, await Assert.ThrowsAsync<OddData>(() => new[] { 0, 1 }.ForEachParallelAsync(
            (item, _) => item == 1 ? ValueTask.FromException(odd) : default).WithinAsync()));
        Assert.Null(ItemFailure.IndexOf(odd));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task IndexOf_BatchFailed_IsTheBatchs()
    {
        TestException e = await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, 100).ForEachBatchParallelAsync(
            10, static (batch, _) => batch.Contains(42) ? throw new TestException("42") : default, null).WithinAsync());
        Assert.Equal([4], ItemFailure.PathOf(e));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task IndexOf_SourceFailed_IsNone()
    {
        static IEnumerable<int> Numbers()
        {
            yield return 1;
            throw new TestException("source");
        }

        TestException e = await Assert.ThrowsAsync<TestException>(() => Numbers().ForEachParallelAsync(static (_, _) => default).WithinAsync());
        Assert.Null(ItemFailure.IndexOf(e));
        Assert.Empty(ItemFailure.PathOf(e));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task IndexOf_OtherModes_AddNothingToTheExceptions()
    {
        ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => new[] { 0, 1 }.ForEachParallelAsync(
            static (item, _) => item == 1 ? throw new TestException("1") : default, new() { ErrorMode = ErrorMode.CollectAndContinue }).WithinAsync());
        Assert.Equal(1, Assert.Single(e.Failures).Index);
        Assert.Empty(e.Failures[0].Error.Data);
        ItemOutcome<int, int>[] outcomes = await new[] { 0, 1 }.SelectParallelOutcomesAsync(
            static (item, _) => item == 1 ? Selectors.ThrowHere(item) : new(item)).WithinAsync();
        Assert.Empty(outcomes[1].Error!.Data);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task IndexOf_ExceptionOfARun_HasNumbersAndNothingOfTheRun()
    {
        TestException shared = new("shared");
        await Assert.ThrowsAsync<TestException>(() => new[] { 0 }.ForEachParallelAsync((_, _) => ValueTask.FromException(shared)).WithinAsync());
        object value = Assert.Single(shared.Data.Values.Cast<object>());
        Assert.All(
            value.GetType().GetFields(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public),
            static field => Assert.Contains(field.FieldType, (Type[])[typeof(long), typeof(long[])]));
        Assert.Equal(0, ItemFailure.IndexOf(shared));
    }

    [Fact]
    public void IndexOf_Null_Throws()
    {
        Assert.Throws<ArgumentNullException>("exception", static () => ItemFailure.IndexOf(null!));
        Assert.Throws<ArgumentNullException>("exception", static () => ItemFailure.PathOf(null!));
    }

    private sealed class OddData(Func<IDictionary> data) : Exception
    {
        public override IDictionary Data => data();
    }

    private sealed class ReadOnlyData : System.Collections.Specialized.HybridDictionary, IDictionary
    {
        bool IDictionary.IsReadOnly => true;
    }

    private sealed class Refusing : IComparer
    {
        public int Compare(object? x, object? y) => throw new InvalidOperationException("no comparison");
    }
}
