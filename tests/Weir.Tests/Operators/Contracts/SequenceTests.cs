using System.Collections;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does every operator take the items of every type of sequence, also when there are none?</summary>
public class SequenceTests
{
    public static MatrixTheoryData<OperatorFamily, string> AllSequences() => new(Cases.Families, Sequences.Names);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(AllSequences))]
    public async Task Sequence_OfAnyType_GivesEachItemOnce(OperatorFamily family, string name)
    {
        foreach (int count in new[] { 0, 1, 2, 700 })
        {
            List<int> expected = [.. Enumerable.Range(0, count).Select(static x => 2 * x)];
            ParallelRunOptions options = new() { MaxDegreeOfParallelism = 3 };
            List<int> plain = await family.RunAsync(TestSource.Over(Sequences.Of(name, count)), Selectors.Twice, options).WithinAsync();
            List<int> keyed = await family.RunKeyedAsync(TestSource.Over(Sequences.Of(name, count)), Selectors.Twice, static x => x % 5, options).WithinAsync();
            Assert.Equal(expected, family.IsOrdered() ? plain : plain.Order());
            Assert.Equal(expected, family.IsOrdered() ? keyed : keyed.Order());
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Source_Empty_EndsWithNothing(OperatorFamily family, SourceKind kind)
    {
        foreach (int limit in new[] { 1, 3 })
        {
            ParallelRunOptions options = new() { MaxDegreeOfParallelism = limit, ChannelCapacity = 1 };
            TestSource plain = TestSource.Of(kind, 0);
            TestSource keyed = TestSource.Of(kind, 0);
            Assert.Empty(await family.RunAsync(plain, Selectors.Twice, options).WithinAsync());
            Assert.Empty(await family.RunKeyedAsync(keyed, Selectors.Twice, static x => x, options).WithinAsync());
            plain.AssertUsedWell();
            keyed.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(0, 10)]
    [InlineData(3, 10)]
    [InlineData(10, 3)]
    [InlineData(10, 0)]
    public async Task Count_ThatIsWrong_FailsTheRun(int count, int items)
    {
        foreach (OperatorFamily family in new[]
        {
            OperatorFamily.List, OperatorFamily.Stream, OperatorFamily.OrderedStream, OperatorFamily.ForEach, OperatorFamily.Outcomes,
        })
        {
            TestSource Source() => TestSource.Over(new Miscounted(count, items));
            Task plain = family.RunAsync(Source(), Selectors.Twice);
            Assert.Contains("changed while the run was reading it", (await Assert.ThrowsAsync<InvalidOperationException>(() => plain.WithinAsync())).Message,
                StringComparison.Ordinal);
            Task keyed = family.RunKeyedAsync(Source(), Selectors.Twice, static x => x);
            await Assert.ThrowsAsync<InvalidOperationException>(() => keyed.WithinAsync());
        }
    }

    /// <summary>A collection that says another count than it has.</summary>
    private sealed class Miscounted(int count, int items) : ICollection<int>
    {
        public int Count => count;

        public bool IsReadOnly => true;

        public void Add(int item) => throw new NotSupportedException();

        public void Clear() => throw new NotSupportedException();

        public bool Contains(int item) => throw new NotSupportedException();

        public void CopyTo(int[] array, int arrayIndex) => throw new NotSupportedException();

        public bool Remove(int item) => throw new NotSupportedException();

        public IEnumerator<int> GetEnumerator() => Enumerable.Range(0, items).GetEnumerator();

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }
}
