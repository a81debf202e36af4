using Weir.Core.Sinks;

namespace Weir.Core.Tests.Sinks;

/// <summary>However many items failed, and however long their messages are: the text of the exception fits into one line of a log.</summary>
public class ItemsFailedExceptionTests
{
    private const int Most = 100_000;

    // Ten messages of 500 characters, and what is around them.
    private const int LongestMessage = 6_000;
    private const int LongestText = 50_000;

    [Fact(Timeout = 60_000)]
    public async Task Message_ManyDifferentFailures_HasTheFirstTenAndTheNumberOfOthers()
    {
        ItemsFailedException e = await Task.Run(static () => Of(Enumerable.Range(0, Most).Select(static i => Thrown($"Order {i} has no customer"))));
        Assert.StartsWith("100,000 items failed. (Order 0 has no customer) (Order 1 has no customer)", e.Message, StringComparison.Ordinal);
        Assert.EndsWith(" (Order 9 has no customer) and 99,990 more", e.Message, StringComparison.Ordinal);
        Assert.InRange(e.ToString().Length, e.Message.Length, LongestText);
        Assert.Contains("and 99,990 more", e.ToString(), StringComparison.Ordinal);
        Assert.Equal(Most, e.InnerExceptions.Count);
        Assert.Equal(Most, e.Failures.Count);
        Assert.Equal("Order 99999 has no customer", e.InnerExceptions[^1].Message);
    }

    [Fact]
    public void Message_EqualFailures_HasEachOnceWithItsCount()
    {
        ItemsFailedException e = Of([new IOException("b"), new IOException("a"), new FormatException("b"), new IOException("b")]);
        Assert.Equal("4 items failed. (b, 3 times) (a)", e.Message);
    }

    [Fact]
    public void Message_OneFailure_IsInIt()
    {
        Assert.Equal("One item failed. (no customer)", Of([new IOException("no customer")]).Message);
    }

    [Fact]
    public void Message_OfAnItemIsLong_IsShortened()
    {
        ItemsFailedException e = Of(Enumerable.Range(0, 20).Select(static i => new IOException($"{i} " + new string('x', 1 << 20))));
        Assert.InRange(e.Message.Length, 5_000, LongestMessage);
        Assert.EndsWith(" and 10 more", e.Message, StringComparison.Ordinal);
        Assert.InRange(e.ToString().Length, e.Message.Length, LongestText);
    }

    [Fact]
    public void Message_ShortenedWithinACharacterOfTwoParts_KeepsNoHalf()
    {
        ItemsFailedException e = Of([new IOException(new string('x', 499) + "\U0001F600" + new string('x', 1000))]);
        Assert.DoesNotContain(e.Message, static c => char.IsSurrogate(c));
    }

    [Fact]
    public void Message_OfAnItemThrows_NamesTheTypeInstead()
    {
        ItemsFailedException e = Of([new Unreadable(), new IOException("a"), new Silent()]);
        Assert.Equal($"3 items failed. ({typeof(Unreadable)}) (a) ({typeof(Silent)})", e.Message);
        Assert.Contains(nameof(Unreadable), e.ToString(), StringComparison.Ordinal);
        Assert.Contains("System.IO.IOException: a", e.ToString(), StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task Message_NestedAggregates_IsBoundedWithoutBuildingTheirText()
    {
        await Task.Yield();
        Exception[] inner = [.. Enumerable.Range(0, Most).Select(static i => new IOException($"Part {i} has failed for a reason that takes some words"))];
        ItemsFailedException e = Of(Enumerable.Repeat<Exception>(new AggregateException("Outer", inner), 20)
            .Append(new IOException("One level down", new AggregateException(inner)))
            .Append(Of(inner)));
        long before = GC.GetAllocatedBytesForCurrentThread();
        Assert.InRange(e.Message.Length, 10, LongestMessage);
        Assert.InRange(e.ToString().Length, e.Message.Length, LongestText);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 5_000_000);
        Assert.Contains("Part 0", e.Message, StringComparison.Ordinal);
        Assert.Contains("100,000", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Message_DeeplyNested_EndsAtSomeDepth()
    {
        Exception nested = new IOException("the innermost");
        for (int depth = 0; depth < 20_000; depth++)
        {
            nested = depth % 2 == 0 ? Of([nested]) : new AggregateException("x", nested);
        }

        ItemsFailedException e = Of([nested]);
        Assert.InRange(e.Message.Length, 10, LongestMessage);
        Assert.InRange(e.ToString().Length, e.Message.Length, LongestText);
    }

    [Fact]
    public void Construction_MessagesAreNotRead_UntilSomebodyAsks()
    {
        int asked = 0;
        ItemsFailedException e = Of([new Counting(() => asked++)]);
        Assert.Equal(0, asked);
        Assert.Equal("One item failed. (counted)", e.Message);
        Assert.Equal(1, asked);
    }

    [Fact]
    public void ToString_FewFailures_HasEachWithItsStackAndItem()
    {
        ItemsFailedException e = new([new(3, Thrown("first")), new(8, Thrown("second")), new(9, Thrown("first")), new(-1, Thrown("the source"))]);
        string text = Assert.Throws<ItemsFailedException>(() => (object)(e.Failures.Count > 0 ? throw e : 0)).ToString();
        Assert.StartsWith("Weir.ItemsFailedException: 4 items failed. (first, 2 times) (second) (the source)", text, StringComparison.Ordinal);
        Assert.Contains("---> (Item 3) System.IO.IOException: first", text, StringComparison.Ordinal);
        Assert.Contains("---> (Item 8) System.IO.IOException: second", text, StringComparison.Ordinal);
        Assert.Contains("---> System.IO.IOException: the source", text, StringComparison.Ordinal);
        Assert.DoesNotContain("(Item 9)", text, StringComparison.Ordinal);
        Assert.Contains($"at {typeof(ItemsFailedExceptionTests)}.{nameof(Thrown)}", text, StringComparison.Ordinal);
        Assert.Contains(nameof(ToString_FewFailures_HasEachWithItsStackAndItem), text, StringComparison.Ordinal);
    }

    [Fact]
    public void ToString_InnerTextThrows_TellsTheRest()
    {
        string text = Of([new NoText(), new IOException("a")]).ToString();
        Assert.Contains(nameof(NoText), text, StringComparison.Ordinal);
        Assert.Contains("System.IO.IOException: a", text, StringComparison.Ordinal);
    }

    [Fact]
    public void ToString_OfResults_IsBoundedToo()
    {
        ItemsFailedException<string> e = new([.. Enumerable.Range(0, Most).Select(static i => new ItemFailure(i, new IOException($"{i}")))], ["a result"]);
        Assert.InRange(e.ToString().Length, e.Message.Length, LongestText);
        Assert.StartsWith("Weir.ItemsFailedException`1[System.String]: 100,000 items failed.", e.ToString(), StringComparison.Ordinal);
    }

    private static ItemsFailedException Of(IEnumerable<Exception> errors) => new([.. errors.Select(static (error, index) => new ItemFailure(index, error))]);

    private static IOException Thrown(string message)
    {
        try
        {
            throw new IOException(message);
        }
        catch (IOException e)
        {
            return e;
        }
    }

    private sealed class Unreadable : Exception
    {
        public override string Message => throw new InvalidOperationException("no message");
    }

    private sealed class Silent : Exception
    {
        public override string Message => null!;
    }

    private sealed class NoText : Exception
    {
        public override string ToString() => throw new InvalidOperationException("no text");
    }

    private sealed class Counting(Action asked) : Exception
    {
        public override string Message
        {
            get
            {
                asked();
                return "counted";
            }
        }
    }
}
