using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Tests that hold for every maker of blocks. Derived once for the oracle, once for ours, once for both in turn.</summary>
public abstract class Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    /// <summary>Milliseconds after which a test that hangs is a test that failed.</summary>
    protected const int Limit = Eventually.Limit;

    protected static readonly DataflowLinkOptions Propagate = new() { PropagateCompletion = true };

    protected TBlocks Blocks { get; } = new();

    /// <summary>A block with a bound of one, which keeps its message: where it runs a delegate, that is held inside.</summary>
    protected Subject Narrow(BlockKind kind, Gate gate, CancellationToken token = default) => Blocks.Create(kind, new BlockSettings
    {
        Bound = 1,
        Token = token,
        Body = _ => gate.Pass(),
        // A broadcast has room again as soon as it has begun to offer, which it does not on a scheduler that stands still.
        Scheduler = kind == BlockKind.Broadcast ? new ManualScheduler() : null,
    });

    /// <summary>A block and a target that it is linked to, which answers as the test says.</summary>
    protected (Subject Subject, ProbeTarget<object> Target) Linked(
        BlockKind kind,
        Func<ProbeTarget<object>, Offer<object>, DataflowMessageStatus>? answer = null,
        DataflowLinkOptions? options = null,
        BlockSettings? settings = null)
    {
        Subject subject = Blocks.Create(kind, settings);
        var target = new ProbeTarget<object>(answer);
        subject.Output.LinkTo(target, options ?? new DataflowLinkOptions());
        return (subject, target);
    }
}
