using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Metering;

/// <summary>The spans of messages.</summary>
[Collection(nameof(WithoutOthers))]
public sealed class BlockSpanTests
{
    private readonly string _name = $"block.{Guid.NewGuid():N}";

    [Theory(Timeout = Eventually.Limit)]
    [InlineData(false, 1, DataflowBlockOptions.Unbounded)]
    [InlineData(true, 1, DataflowBlockOptions.Unbounded)]
    [InlineData(false, 1, 100)]
    [InlineData(true, 1, 100)]
    [InlineData(false, 2, DataflowBlockOptions.Unbounded)]
    [InlineData(true, 2, DataflowBlockOptions.Unbounded)]
    public async Task Spans_OfMessagesOfSeveralSenders_AreChildrenOfTheirOwn(bool isAsync, int parallelism, int capacity)
    {
        using BlockListener listener = new(_name, spans: true);
        ExecutionDataflowBlockOptions options = new()
        {
            NameFormat = _name,
            MaxDegreeOfParallelism = parallelism,
            BoundedCapacity = capacity,
            EnsureOrdered = false,
        };
        TransformBlock<int, int> first = isAsync
            ? new(
                static async i =>
                {
                    await Task.Yield();
                    Activity.Current?.SetTag("first", i);
                    return i;
                },
                options)
            : new(
                static i =>
                {
                    Activity.Current?.SetTag("first", i);
                    return i;
                },
                options);
        ActionBlock<int> second = new(static i => { Activity.Current?.SetTag("second", i); }, options);
        first.LinkTo(second, new DataflowLinkOptions { PropagateCompletion = true });
        Dictionary<int, ActivitySpanId> senders = [];
        for (int i = 0; i < 20; i++)
        {
            using Activity sender = new("sender");
            sender.Start();
            senders[i] = sender.SpanId;
            Assert.True(first.Post(i));
        }

        using (Activity none = new("nobody's"))
        {
            Assert.Null(Activity.Current);
            first.Post(20);
        }

        first.Complete();
        await Eventually.Done(second.Completion);

        Activity[] firsts = [.. listener.Spans.Where(static s => s.GetTagItem("first") is not null)];
        Activity[] seconds = [.. listener.Spans.Where(static s => s.GetTagItem("second") is not null)];
        Assert.Equal(21, firsts.Length);
        Assert.Equal(21, seconds.Length);
        foreach (Activity span in firsts)
        {
            int item = (int)span.GetTagItem("first")!;
            Assert.Equal(item == 20 ? default : senders[item], span.ParentSpanId);
            Assert.Equal("weir.message", span.OperationName);
            Assert.Equal("TransformBlock", span.GetTagItem("weir.block.type"));
            Assert.Equal("succeeded", span.GetTagItem("weir.outcome"));
            Activity next = Assert.Single(seconds, s => item.Equals(s.GetTagItem("second")));
            if (capacity == DataflowBlockOptions.Unbounded)
            {
                // A bounded block may fetch a message later, and then knows no sender.
                Assert.Equal(span.SpanId, next.ParentSpanId);
                Assert.Equal(span.TraceId, next.TraceId);
            }
        }
    }

    [Theory(Timeout = Eventually.Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Span_OfACallThatFails_HasTheError(bool isAsync)
    {
        using BlockListener listener = new(_name, spans: true);
        ActionBlock<int> block = isAsync
            ? new(
                static async _ =>
                {
                    await Task.Yield();
                    throw new FormatException("no");
                },
                new ExecutionDataflowBlockOptions { NameFormat = _name })
            : new((Action<int>)(static _ => throw new FormatException("no")), new ExecutionDataflowBlockOptions { NameFormat = _name });
        block.Post(1);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Activity span = Assert.Single(listener.Spans);
        Assert.Equal("failed", span.GetTagItem("weir.outcome"));
        Assert.Equal("System.FormatException", span.GetTagItem("error.type"));
        Assert.Equal(ActivityStatusCode.Error, span.Status);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Span_OfABroadcastMessageThatIsTakenAsTheBlockFails_WasCancelled()
    {
        using BlockListener listener = new(_name, spans: true);
        using Gate gate = new();
        BroadcastBlock<int> block = new(null, new DataflowBlockOptions { NameFormat = _name });
        block.LinkTo(new ProbeTarget<int>(
            static (self, offer) => self.Reserve(offer) ? DataflowMessageStatus.Postponed : DataflowMessageStatus.Declined));
        block.Post(1);
        Eventually.True(() => listener.Spans.Count == 1);

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
        Assert.Equal(["succeeded", "cancelled"], listener.Spans.Select(static s => s.GetTagItem("weir.outcome")));
        Assert.Equal(1 + more, listener["weir.block.messages discarded"]);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Listener_ThatLeavesDuringACall_ItsSpanEnds()
    {
        TaskCompletionSource gate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Activity? span = null;
        ActionBlock<int> block = new(
            _ =>
            {
                span ??= Activity.Current;
                return gate.Task;
            },
            new ExecutionDataflowBlockOptions { NameFormat = _name });
        using (BlockListener listener = new(_name, spans: true))
        {
            block.Post(1);
            Eventually.True(() => Volatile.Read(ref span) is not null);
        }

        block.Post(2);
        gate.SetResult();
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.True(span!.IsStopped);
    }
}
