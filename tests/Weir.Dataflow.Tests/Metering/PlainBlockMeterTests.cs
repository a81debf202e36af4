using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Tests.Probes;
using Allocated = Weir.TestKit.Allocated;
using Leak = Weir.TestKit.Leak;

namespace Weir.Dataflow.Tests.Metering;

/// <summary>What the instruments show of blocks without a delegate. Alone, because the meter is one for the whole process.</summary>
[Collection(nameof(WithoutOthers))]
public sealed class PlainBlockMeterTests
{
    private static readonly string[] UpDown =
        ["weir.blocks.active", "weir.block.in_flight", "weir.block.queued input", "weir.block.queued output"];

    private readonly string _name = $"block.{Guid.NewGuid():N}";

    /// <summary>A block that was fed, and what the instruments show of it: then, when its results were taken and it is complete, and if it fails.</summary>
    public static TheoryData<string, bool, Counts, Counts, Counts> Shapes()
    {
        TheoryData<string, bool, Counts, Counts, Counts> data = [];
        foreach (bool isBounded in (bool[])[false, true])
        {
            data.Add("buffer", isBounded, new(5, 0, 0, 0, 0, 5), new(5, 5, 5, 0), new(5, 0, 0, 5));
            data.Add("batch", isBounded, new(10, 8, 0, 0, 2, 2), new(10, 10, 3, 0), new(10, 8, 0, 2));
            data.Add("join", isBounded, new(8, 6, 0, 0, 2, 3), new(8, 6, 3, 2), new(8, 6, 0, 2));
            data.Add("join of three", isBounded, new(8, 6, 0, 0, 2, 2), new(8, 6, 2, 2), new(8, 6, 0, 2));
        }

        data.Add("batched join", false, new(6, 4, 0, 0, 2, 1), new(6, 6, 2, 0), new(6, 4, 0, 2));
        data.Add("batched join of three", false, new(6, 4, 0, 0, 2, 1), new(6, 6, 2, 0), new(6, 4, 0, 2));
        return data;
    }

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Shapes))]
    public async Task Listener_ThatComesWhenABlockIsUnderWay_SeesIt(string kind, bool isBounded, Counts fed, Counts ended, Counts failed)
    {
        (IDataflowBlock block, Action receive) = Fed(kind, isBounded);
        using BlockListener late = new(_name);
        Assert.Equal(1, late["weir.blocks.active"]);
        Assert.Equal(fed, Read(late));

        block.Complete();
        receive();
        await Eventually.Done(block.Completion);
        Assert.Equal(ended, Read(late));
        Assert.All(UpDown, instrument => Assert.Equal(0, late[instrument]));
        Assert.NotEqual(ended, failed);
    }

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Shapes))]
    public async Task Block_ThatFails_CountsWhatItThrowsAway(string kind, bool isBounded, Counts fed, Counts ended, Counts failed)
    {
        using BlockListener listener = new(_name);
        (IDataflowBlock block, _) = Fed(kind, isBounded);
        Assert.Equal(fed, Read(listener));
        block.Fault(new FormatException());
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.Equal(failed, Read(listener));
        Assert.All(UpDown, instrument => Assert.Equal(0, listener[instrument]));
        Assert.NotEqual(fed, ended);
    }

    [Theory(Timeout = Eventually.Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Buffer_MessagesTakenInEachWay_AreSent(bool isBounded)
    {
        using BlockListener listener = new(_name);
        BufferBlock<int> block = new(new DataflowBlockOptions { NameFormat = _name, BoundedCapacity = isBounded ? 100 : DataflowBlockOptions.Unbounded });
        Task<int> waiting = block.ReceiveAsync();
        Assert.True(block.Post(1));
        Assert.Equal(1, await Eventually.Result(waiting));
        Assert.Equal(new Counts(1, 1, 1, 0), Read(listener));

        block.Post(2);
        block.Post(3);
        block.Post(4);
        Assert.True(block.TryReceive(out _));
        Assert.True(block.TryReceiveAll(out _));
        Assert.Equal(new Counts(4, 4, 4, 0), Read(listener));

        ActionBlock<int> last = new(static _ => { });
        block.LinkTo(last, new DataflowLinkOptions { PropagateCompletion = true });
        for (int i = 0; i < 1_000; i++)
        {
            Assert.True(await Eventually.Result(block.SendAsync(i)));
        }

        block.Complete();
        await Eventually.Done(last.Completion);
        Assert.Equal(new Counts(1_004, 1_004, 1_004, 0), Read(listener));
        Assert.Equal(0, listener["weir.blocks.active"]);
    }

    [Theory(Timeout = Eventually.Limit)]
    [InlineData("batch")]
    [InlineData("join")]
    public async Task NotGreedy_MessagesThatAreConsumed_AreCounted(string kind)
    {
        using BlockListener listener = new(_name);
        GroupingDataflowBlockOptions options = new() { NameFormat = _name, Greedy = false };
        BufferBlock<int> first = new();
        BufferBlock<int> second = new();
        IDataflowBlock block;
        Func<bool> receive;
        if (kind == "batch")
        {
            BatchBlock<int> batch = new(2, options);
            first.LinkTo(batch);
            second.LinkTo(batch);
            (block, receive) = (batch, () => batch.TryReceive(out _));
        }
        else
        {
            JoinBlock<int, int> join = new(options);
            first.LinkTo(join.Target1);
            second.LinkTo(join.Target2);
            (block, receive) = (join, () => join.TryReceive(out _));
        }

        first.Post(1);
        Assert.Null(listener["weir.blocks.active"]);
        second.Post(2);
        Eventually.True(receive);
        Eventually.Equal(new Counts(2, 2, 1, 0), () => Read(listener));
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(0, listener["weir.blocks.active"]);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Transform_ResultsThatLeft_AreSent()
    {
        using BlockListener listener = new(_name);
        TransformBlock<int, int> block = new(static i => i, new ExecutionDataflowBlockOptions { NameFormat = _name });
        block.Post(1);
        block.Post(2);
        Assert.Equal(1, await Eventually.Result(block.ReceiveAsync()));
        Eventually.Equal(1, () => listener["weir.block.queued output"]);
        Assert.Equal(1, listener["weir.block.sent"]);
        GC.KeepAlive(block);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Broadcast_UnderWayAndComplete_IsCounted()
    {
        BroadcastBlock<int> block = new(null, new DataflowBlockOptions { NameFormat = _name });
        ProbeTarget<int> target = new(static (self, offer) => self.Reserve(offer) ? DataflowMessageStatus.Postponed : DataflowMessageStatus.Declined);
        block.LinkTo(target);
        block.Post(1);
        block.Post(2);
        block.Post(3);
        using BlockListener late = new(_name);

        // The reservation of the first holds back the second, and that one the third.
        Eventually.Equal(new Counts(3, 1, 1, 0, 1), () => Read(late));
        Assert.Equal(1, late["weir.block.in_flight"]);
        target.Answer = ProbeTarget<int>.Accept;
        Assert.True(target.Consume(target.Offers[0], out _));
        Eventually.Equal(new Counts(3, 3, 3, 0), () => Read(late));
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(new Counts(3, 3, 3, 0), Read(late));
        Assert.All(UpDown, instrument => Assert.Equal(0, late[instrument]));
    }

    [Theory(Timeout = Eventually.Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Broadcast_MessageThatIsHeldBack_HasItsDurationAndIsDiscardedIfTheBlockFails(bool fails)
    {
        using BlockListener listener = new(_name, durations: true);
        BroadcastBlock<int> block = new(null, new DataflowBlockOptions { NameFormat = _name });
        ProbeTarget<int> target = new(static (self, offer) => self.Reserve(offer) ? DataflowMessageStatus.Postponed : DataflowMessageStatus.Declined);
        block.LinkTo(target);
        block.Post(1);
        block.Post(2);
        Eventually.Equal(new Counts(2, 1, 1, 0), () => Read(listener));
        Assert.Equal(1, listener["weir.block.in_flight"]);
        Assert.Equal(["weir.block.duration"], listener.Durations);
        if (fails)
        {
            ((IDataflowBlock)block).Fault(new FormatException());
            Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        }
        else
        {
            target.Answer = ProbeTarget<int>.Accept;
            Assert.True(target.Consume(target.Offers[0], out _));
            block.Complete();
            await Eventually.Done(block.Completion);
        }

        Assert.Equal(fails ? new Counts(2, 1, 1, 1) : new Counts(2, 2, 2, 0), Read(listener));
        Assert.Equal(["weir.block.duration", "weir.block.duration"], listener.Durations);
        Assert.All(UpDown, instrument => Assert.Equal(0, listener[instrument]));
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Broadcast_MessageThatIsTakenAsTheBlockFails_IsDiscarded()
    {
        using BlockListener listener = new(_name, durations: true);
        using Gate gate = new();
        BroadcastBlock<int> block = new(null, new DataflowBlockOptions { NameFormat = _name });
        block.LinkTo(new ProbeTarget<int>(
            static (self, offer) => self.Reserve(offer) ? DataflowMessageStatus.Postponed : DataflowMessageStatus.Declined));
        block.Post(1);
        Eventually.True(() => listener.Durations.Count == 1);

        // While a new link is offered the first, the worker that has taken the second waits, and has not seen that a reservation holds it back.
        Task linking = Task.Run(() => block.LinkTo(new ProbeTarget<int>((_, _) =>
        {
            gate.Pass();
            return DataflowMessageStatus.Declined;
        })));
        gate.AwaitArrivals();
        block.Post(2);
        Eventually.True(() => listener["weir.block.queued input"] == 0 && listener["weir.block.in_flight"] == 1);
        Task failing = Task.Run(() => ((IDataflowBlock)block).Fault(new FormatException()));
        int more = 0;
        Eventually.True(() =>
        {
            bool isTaken = block.Post(3);
            more += isTaken ? 1 : 0;
            return !isTaken;
        });
        gate.Open();
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        await Eventually.Done(Task.WhenAll(linking, failing));
        Assert.Equal(["weir.block.duration", "weir.block.duration"], listener.Durations);
        Assert.Equal(1 + more, listener["weir.block.messages discarded"]);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task WriteOnce_TheMessage_IsCountedOnce()
    {
        using BlockListener listener = new(_name);
        using Gate gate = new();
        WriteOnceBlock<int> block = new(null, new DataflowBlockOptions { NameFormat = _name });
        ProbeTarget<int> target = new((_, _) =>
        {
            gate.Pass();
            return DataflowMessageStatus.Accepted;
        });
        block.LinkTo(target);
        Assert.True(block.Post(1));
        Assert.False(block.Post(2));
        gate.AwaitArrivals();
        Assert.Equal(1, listener["weir.blocks.active"]);
        Assert.Equal(new Counts(1, 1, 1, 0), Read(listener));
        gate.Open();
        await Eventually.Done(block.Completion);
        Assert.Equal(new Counts(1, 1, 1, 0), Read(listener));
        Assert.All(UpDown, instrument => Assert.Equal(0, listener[instrument]));
    }

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Shapes))]
    public async Task Block_ThatWasUsedAndForgotten_IsCollectedAndKeepsItsCounts(string kind, bool isBounded, Counts fed, Counts ended, Counts failed)
    {
        Assert.NotEqual(ended, failed);
        using BlockListener listener = new(_name);
        WeakReference block = Leak.Forgotten(() => Fed(kind, isBounded).Block, () => Assert.Equal(fed, Read(listener)));
        await Leak.GoneAsync([block], "a block that the meter knows");
        Assert.Equal(fed with { Queued = 0, Output = 0 }, Read(listener));
        Assert.All(UpDown, instrument => Assert.Equal(0, listener[instrument]));
    }

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Shapes))]
    public async Task Block_ThatWasNeverUsed_IsNotListed(string kind, bool isBounded, Counts fed, Counts ended, Counts failed)
    {
        Assert.Distinct([fed, ended, failed]);
        using BlockListener listener = new(_name);
        WeakReference block = Leak.Forgotten(() => Create(kind, isBounded).Block, () => Assert.Null(listener["weir.blocks.active"]));
        await Leak.GoneAsync([block], "a block that the meter knows");
        Assert.Null(listener["weir.blocks.active"]);
    }

    [Fact]
    public void Messages_NobodyListens_AllocateNothing()
    {
        BufferBlock<int> buffer = new(new DataflowBlockOptions { NameFormat = _name });
        JoinBlock<int, int> join = new(new GroupingDataflowBlockOptions { NameFormat = _name });
        Pass(buffer, join, 100);

        // The tuples, and nothing else.
        Assert.Equal(10_000 * 24, Allocated.Least(() => Pass(buffer, join, 10_000), 10_000 * 24));

        static void Pass(BufferBlock<int> buffer, JoinBlock<int, int> join, int count)
        {
            for (int i = 0; i < count; i++)
            {
                Assert.True(buffer.Post(i) & buffer.TryReceive(out _) & join.Target1.Post(i) & join.Target2.Post(i) & join.TryReceive(out _));
            }
        }
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Counts_ReadWhileMessagesMove_NeverGoBackNorBeyondWhatWasPosted()
    {
        const int All = 50_000;
        using BlockListener listener = new(_name);
        BufferBlock<int> block = new(new DataflowBlockOptions { NameFormat = _name });
        long posted = 0;
        Task posting = Task.Run(() =>
        {
            for (int i = 0; i < All; i++)
            {
                Interlocked.Increment(ref posted);
                block.Post(i);
            }
        });
        Task receiving = Task.Run(() =>
        {
            for (int i = 0; i < All; i += block.TryReceive(out _) ? 1 : 0)
            {
                Assert.False(posting.IsFaulted);
            }
        });
        long last = 0;
        while (!receiving.IsCompleted)
        {
            Counts now = Read(listener);
            long most = Interlocked.Read(ref posted);
            Assert.InRange(now.Received, last, most);
            Assert.InRange(now.Sent, 0, most);
            last = now.Received;
        }

        await Eventually.Done(Task.WhenAll(posting, receiving));
        Assert.Equal(new Counts(All, All, All, 0), Read(listener));
    }

    private static Counts Read(BlockListener listener)
    {
        IReadOnlyDictionary<string, long> all = listener.ReadAll();
        return new(
            all.GetValueOrDefault("weir.block.received"),
            all.GetValueOrDefault("weir.block.messages succeeded"),
            all.GetValueOrDefault("weir.block.sent"),
            all.GetValueOrDefault("weir.block.messages discarded"),
            all.GetValueOrDefault("weir.block.queued input"),
            all.GetValueOrDefault("weir.block.queued output"));
    }

    private (IDataflowBlock Block, Action Receive) Fed(string kind, bool isBounded)
    {
        (IDataflowBlock block, ITargetBlock<int>[] targets, int[] messages, Action receive) = Create(kind, isBounded);
        for (int i = 0; i < targets.Length; i++)
        {
            targets[i].PostAll(Enumerable.Range(0, messages[i]));
        }

        return (block, receive);
    }

    private (IDataflowBlock Block, ITargetBlock<int>[] Targets, int[] Messages, Action Receive) Create(string kind, bool isBounded)
    {
        GroupingDataflowBlockOptions options = new() { NameFormat = _name, BoundedCapacity = isBounded ? 20 : DataflowBlockOptions.Unbounded };
        switch (kind)
        {
            case "buffer":
                BufferBlock<int> buffer = new(options);
                return (buffer, [buffer], [5], () => ReceiveAll(buffer));
            case "batch":
                BatchBlock<int> batch = new(4, options);
                return (batch, [batch], [10], () => ReceiveAll(batch));
            case "join":
                JoinBlock<int, int> join = new(options);
                return (join, [join.Target1, join.Target2], [5, 3], () => ReceiveAll(join));
            case "join of three":
                JoinBlock<int, int, int> three = new(options);
                return (three, [three.Target1, three.Target2, three.Target3], [4, 2, 2], () => ReceiveAll(three));
            case "batched join":
                BatchedJoinBlock<int, int> batched = new(4, options);
                return (batched, [batched.Target1, batched.Target2], [3, 3], () => ReceiveAll(batched));
            default:
                BatchedJoinBlock<int, int, int> batchedThree = new(4, options);
                return (batchedThree, [batchedThree.Target1, batchedThree.Target2, batchedThree.Target3], [2, 1, 3], () => ReceiveAll(batchedThree));
        }
    }

    private static void ReceiveAll<T>(IReceivableSourceBlock<T> block) => Eventually.True(() =>
    {
        while (block.TryReceive(out _))
        {
        }

        return block.Completion.IsCompleted;
    });

    /// <summary>What the instruments show.</summary>
    public sealed record Counts(long Received, long Succeeded, long Sent, long Discarded, long Queued = 0, long Output = 0);
}
