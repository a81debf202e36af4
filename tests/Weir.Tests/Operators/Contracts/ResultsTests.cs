using System.Collections.Immutable;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does every item get its one result, in the promised order?</summary>
public class ResultsTests
{
    private static readonly int[] Lengths = [0, 1, 2, 3, 17, 64, 1_000];

    public static MatrixTheoryData<OperatorFamily, SourceKind, bool> AnyFamilyKindAndWork() => new(Cases.Families, Cases.Kinds, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyFamilyKindAndWork))]
    public async Task Run_ItemsOfOneKind_GivesEveryResultInOrder(OperatorFamily family, SourceKind kind, bool suspends)
    {
        foreach (int length in Lengths)
        {
            TestSource source = TestSource.Of(kind, length);
            List<int> results = await family.RunAsync(
                source, suspends ? Selectors.TwiceAfterYield : Selectors.Twice, new() { MaxDegreeOfParallelism = suspends ? 5 : 4 }).WithinAsync();
            AssertComplete(family, length, results);
            source.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.All), MemberType = typeof(Cases))]
    public async Task Run_ItemsThatEndInReverse_GivesOrderedResultsInSourceOrder(OperatorFamily family, SourceKind kind)
    {
        Gate[] gates = [.. Enumerable.Range(0, 6).Select(static _ => new Gate())];
        ConcurrencyProbe probe = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, gates.Length),
            async (item, _) =>
            {
                using (probe.Enter())
                {
                    await gates[item].WaitAsync();
                    return item * 2;
                }
            },
            new() { MaxDegreeOfParallelism = gates.Length });
        await probe.InsideAsync(gates.Length);
        for (int i = gates.Length - 1; i >= 0; i--)
        {
            gates[i].Open();
            await probe.InsideAsync(i);
        }

        List<int> results = await running.WithinAsync();
        AssertComplete(family, gates.Length, results);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Run_ManyItems_RunsEachOnce(OperatorFamily family)
    {
        int[] runs = new int[30_000];
        await family.RunAsync(
            TestSource.Of(SourceKind.Array, runs.Length),
            (item, _) =>
            {
                Interlocked.Increment(ref runs[item]);
                return item % 97 == 0 ? Selectors.TwiceAfterYield(item, default) : new(item);
            },
            new() { MaxDegreeOfParallelism = 8 }).WithinAsync();
        Assert.All(runs, static count => Assert.Equal(1, count));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_WithoutOptions_Works() =>
        Assert.Equal([0, 2, 4], await Enumerable.Range(0, 3).SelectParallelAsync(Selectors.Twice).WithinAsync());

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_UncommonCollections_GiveTheirOwnItems()
    {
        int[] numbers = [.. Enumerable.Range(0, 100)];
        int[] twice = [.. numbers.Select(static n => n * 2)];
        Assert.Equal(twice[10..30], await new ArraySegment<int>(numbers, 10, 20).SelectParallelAsync(Selectors.Twice).WithinAsync());
        Assert.Equal(twice, await ImmutableArray.Create(numbers).SelectParallelAsync(Selectors.Twice).WithinAsync());
        Assert.Equal(twice, await new Queue<int>(numbers).SelectParallelAsync(Selectors.Twice).WithinAsync());
        Assert.Equal(twice, await numbers.Select(static n => n).SelectParallelAsync(Selectors.Twice).WithinAsync());
        Assert.Equal(twice, await new BackwardList(numbers.Reverse()).SelectParallelAsync(Selectors.Twice).WithinAsync());
        Assert.Equal([], await ImmutableArray<int>.Empty.SelectParallelAsync(Selectors.Twice).WithinAsync());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_CovariantArray_GivesItsItems()
    {
        object[] words = new string[] { "a", "b", "c" };
        List<string> results = await words.SelectParallelAsync(static (word, _) => new ValueTask<string>(word + "!")).WithinAsync();
        Assert.Equal(["a!", "b!", "c!"], results);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_ListChangedMeanwhile_FailsAndDoesNotReadBeyondIt()
    {
        List<int> list = [.. Enumerable.Range(0, 1_000)];
        using Gate gate = new();
        Task<List<int>> running = list.SelectParallelAsync(
            async (item, _) =>
            {
                await gate.WaitAsync();
                return item;
            },
            new() { MaxDegreeOfParallelism = 2 });
        list.RemoveRange(10, 990);
        gate.Open();
        await Assert.ThrowsAsync<InvalidOperationException>(() => running.WithinAsync());
    }

    private static void AssertComplete(OperatorFamily family, int length, List<int> results)
    {
        if (!family.IsOrdered())
        {
            results.Sort();
        }

        Assert.Equal(Enumerable.Range(0, length).Select(static i => i * 2), results);
    }

    private sealed class BackwardList(IEnumerable<int> items) : List<int>(items), IEnumerable<int>
    {
        IEnumerator<int> IEnumerable<int>.GetEnumerator() => ((IEnumerable<int>)ToArray()).Reverse().GetEnumerator();
    }
}
