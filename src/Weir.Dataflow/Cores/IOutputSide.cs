using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;

namespace Weir.Dataflow.Cores;

/// <summary>The output side of a block, whatever its outputs.</summary>
internal interface IOutputSide
{
    IDataflowBlock Block { get; }

    /// <summary>Whether the block is complete.</summary>
    bool IsCompleted { get; }

    /// <summary>Counts what has left and what waits.</summary>
    void Sample(ref BlockSample sample);

    /// <summary>Checks again whether the block is complete, after its token was cancelled.</summary>
    void Reconsider();

    /// <summary>Ends the outputs: the block completes when the last one has left, or at once after a fault or cancellation.</summary>
    void Complete(IEnumerable<Exception>? exceptions = null);
}
