using System.Reflection;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Tests.Dispatch;

namespace Weir.Core.Tests.Sinks;

public class SegmentsTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(31)]
    [InlineData(32)]
    [InlineData(33)]
    [InlineData(100_000)]
    public void ToList_AfterWritesInAnyOrder_HasEachValueAtItsIndex(int count)
    {
        Segments<int> segments = new();
        int[] order = Enumerable.Range(0, count).ToArray();
        new Random(1).Shuffle(order);
        Parallel.ForEach(order, i => segments[i] = i + 1);
        Assert.Equal(Enumerable.Range(1, count), segments.ToList(count));
    }

    [Fact]
    public void ToList_IndexNeverWritten_HasTheDefault()
    {
        Segments<int> segments = new() { [500] = 1 };
        List<int> list = segments.ToList(501);
        Assert.Equal(1, list[500]);
        Assert.All(list.Take(500), static x => Assert.Equal(0, x));
    }

    [Fact]
    public void Set_IndexBeyondAnyList_SaysWhatToDo()
    {
        Segments<byte> segments = new();
        AssertTooMany(Assert.Throws<InvalidOperationException>(() => segments[2_147_483_616] = 1));
        AssertTooMany(Assert.Throws<InvalidOperationException>(() => segments[int.MaxValue] = 1));
    }

    [Theory]
    [InlineData(2_147_483_592L)]
    [InlineData(1L << 32)]
    public void ToList_LongerThanAnyList_SaysWhatToDo(long count)
    {
        Segments<byte> segments = new();
        AssertTooMany(Assert.Throws<InvalidOperationException>(() => segments.ToList(count)));
        AssertTooMany(Assert.Throws<InvalidOperationException>(() => segments.ToArray(count)));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(2_147_483_616L, false)]
    [InlineData((long)int.MaxValue, false)]
    [InlineData((long)int.MaxValue, true)]
    public async Task Run_MoreItemsThanAListCanHold_EndsWithOneSentence(long first, bool fails)
    {
        Source<int> source = SourceOf.Enumerable(Enumerable.Range(0, 10).Where(static _ => true));

        // As if so many items had been read before.
        FieldInfo next = typeof(TurnSource<int>).GetField("_next", BindingFlags.Instance | BindingFlags.NonPublic)!;
        next.SetValue(source, first);
        TestRun<int, int> run = new TestRun<int, int>(
            source,
            (x, _) => fails ? throw new FormatException() : new ValueTask<int>(x),
            new PumpSettings { Limit = 2, ErrorMode = ErrorMode.BestEffort }).Start();
        AssertTooMany(await Assert.ThrowsAsync<InvalidOperationException>(() => run.Task.WithinAsync("the run")));
    }

    private static void AssertTooMany(InvalidOperationException error) =>
        Assert.StartsWith("The source has more than 2,147,483,591 items, and no list or array can hold as many", error.Message, StringComparison.Ordinal);
}
