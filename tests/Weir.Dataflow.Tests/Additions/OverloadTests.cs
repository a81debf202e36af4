using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>Does what compiles with Microsoft's blocks compile with these, and mean the same?</summary>
public class OverloadTests
{
    [Fact]
    public void LinkTo_NullOrTargetTypedOptions_AreOptions()
    {
        var number = new ProbeTarget<int>();
        var numbers = new ProbeTarget<int[]>();
        Assert.Throws<ArgumentNullException>(() => new BufferBlock<int>().LinkTo(number, null!));
        Assert.Throws<ArgumentNullException>(() => new TransformBlock<int, int>(static i => i).LinkTo(number, null!));
        Assert.Throws<ArgumentNullException>(() => new TransformManyBlock<int, int>(static i => (int[])[i]).LinkTo(number, null!));
        Assert.Throws<ArgumentNullException>(() => new BroadcastBlock<int>(null).LinkTo(number, null!));
        Assert.Throws<ArgumentNullException>(() => new WriteOnceBlock<int>(null).LinkTo(number, null!));
        Assert.Throws<ArgumentNullException>(() => new BatchBlock<int>(1).LinkTo(numbers, null!));
        Assert.Throws<ArgumentNullException>(() => new JoinBlock<int, int>().LinkTo(new ProbeTarget<Tuple<int, int>>(), null!));
        Assert.Throws<ArgumentNullException>(() => new JoinBlock<int, int, int>().LinkTo(new ProbeTarget<Tuple<int, int, int>>(), null!));
        Assert.Throws<ArgumentNullException>(() => new BatchedJoinBlock<int, int>(1).LinkTo(new ProbeTarget<Tuple<IList<int>, IList<int>>>(), null!));
        Assert.Throws<ArgumentNullException>(
            () => new BatchedJoinBlock<int, int, int>(1).LinkTo(new ProbeTarget<Tuple<IList<int>, IList<int>, IList<int>>>(), null!));
        using IDisposable link = new BufferBlock<int>().LinkTo(number, new() { PropagateCompletion = true });
    }

    [Fact]
    public void LinkTo_Lambda_IsAPredicate()
    {
        var block = new BufferBlock<int>();
        var target = new ProbeTarget<int>();
        using IDisposable link = block.LinkTo(target, static i => i > 1);
        block.Post(2);
        Eventually.Sequence([2], () => target.Accepted);
    }
}
