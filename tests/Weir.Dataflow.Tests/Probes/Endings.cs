namespace Weir.Dataflow.Tests.Probes;

/// <summary>Ends a block in one of the ways.</summary>
public static class Endings
{
    public static void End(this IDataflowBlock block, EndingOf ending, CancellationTokenSource cancel)
    {
        switch (ending)
        {
            case EndingOf.Block:
                block.Complete();
                break;
            case EndingOf.Fault:
                block.Fault(new FormatException("end"));
                break;
            case EndingOf.Cancel:
                cancel.Cancel();
                break;
            default:
                throw new ArgumentOutOfRangeException(nameof(ending));
        }
    }

    /// <summary>How a block is after its end.</summary>
    public static TaskStatus Status(this EndingOf ending) => ending switch
    {
        EndingOf.Fault => TaskStatus.Faulted,
        EndingOf.Cancel => TaskStatus.Canceled,
        _ => TaskStatus.RanToCompletion,
    };
}
