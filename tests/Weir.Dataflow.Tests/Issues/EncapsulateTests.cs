using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>dotnet/runtime 35751: MaxMessages of a link from an encapsulated block was not heeded.</summary>
public class EncapsulateTests
{
    [Fact]
    public void LinkTo_MaxMessagesThroughEncapsulate_UnlinksAfterSoMany_35751()
    {
        var buffer = new BufferBlock<int>();
        IPropagatorBlock<int, int> whole = DataflowBlocks.Encapsulate<int, int>(buffer, buffer);
        (ProbeTarget<int> two, ProbeTarget<int> rest) = (new(), new());
        whole.LinkTo(two, new DataflowLinkOptions { MaxMessages = 2 });
        whole.LinkTo(rest);
        whole.PostAll(Enumerable.Range(0, 5));
        Eventually.Sequence([2, 3, 4], () => rest.Accepted);
        Assert.Equal([0, 1], two.Accepted);
    }

    [Fact]
    public void LinkTo_MaxMessagesIntoEncapsulate_UnlinksAfterSoMany_35751()
    {
        var source = new BufferBlock<int>();
        var inner = new BufferBlock<int>();
        source.LinkTo(DataflowBlocks.Encapsulate<int, int>(inner, inner), new DataflowLinkOptions { MaxMessages = 2 });
        source.PostAll(Enumerable.Range(0, 5));
        Eventually.Equal(2, () => inner.Count);
        Never.True(() => inner.Count > 2);

        // The second message counts in both until the source has the answer to its offer.
        Eventually.Equal(3, () => source.Count);
    }
}
