using System.Globalization;
using System.Reflection;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>Does a block that lives for long, and of which messages are received one by one, still give copies to its first links?</summary>
public class LinkOrderTests
{
    [Fact(Timeout = Eventually.Limit)]
    public async Task Broadcast_AfterTwoBillionCallsThatWaited_StillGivesToItsFirstLink()
    {
        BroadcastBlock<int> source = new(null);
        BufferBlock<int> first = new();
        BufferBlock<int> second = new();
        source.LinkTo(first);
        Age(source);
        source.LinkTo(second);
        Assert.True(source.Post(1));
        Assert.Equal(1, await Eventually.Result(first.ReceiveAsync()));
        Assert.Equal(1, await Eventually.Result(second.ReceiveAsync()));
    }

    // As if so many calls had waited for a message.
    private static void Age(BroadcastBlock<int> block)
    {
        const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;
        CopySource<int> source = ((BroadcastCore<int>)typeof(BroadcastBlock<int>).GetField("_core", Hidden)!.GetValue(block)!).Source;
        FieldInfo highest = typeof(LinkList<int>).GetField($"<{nameof(LinkList<int>.Highest)}>k__BackingField", Hidden)!;
        object links = source.Links;
        highest.SetValue(links, Convert.ChangeType(int.MaxValue, highest.FieldType, CultureInfo.InvariantCulture));
        source.Links = (LinkList<int>)links;
    }
}
