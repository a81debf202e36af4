using System.Diagnostics;
using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>
/// Stands between a source and a target: for a link with a predicate, or because a source is linked to one target more than once and the target has to tell the
/// links apart.
/// </summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
internal sealed class PassThrough<T>(ISourceBlock<T> source, ITargetBlock<T> target, Predicate<T>? predicate) : IPropagatorBlock<T, T>
{
    Task IDataflowBlock.Completion => source.Completion;

    private string DebuggerDisplay => ToString();

    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        Protocol.CheckOffer(messageHeader, source, consumeToAccept);
        return predicate is null || predicate(messageValue)
            ? target.OfferMessage(messageHeader, messageValue, this, consumeToAccept)
            : DataflowMessageStatus.Declined;
    }

    T? ISourceBlock<T>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed) =>
        source.ConsumeMessage(messageHeader, this, out messageConsumed);

    bool ISourceBlock<T>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<T> target) => source.ReserveMessage(messageHeader, this);

    void ISourceBlock<T>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<T> target) => source.ReleaseReservation(messageHeader, this);

    void IDataflowBlock.Complete() => target.Complete();

    void IDataflowBlock.Fault(Exception exception) => target.Fault(exception);

    IDisposable ISourceBlock<T>.LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions) =>
        throw new NotSupportedException("This member is not supported on this dataflow block: it stands for one link.");

    /// <summary>How it appears among the links of the source.</summary>
    public override string ToString() => $"{target}, linked {(predicate is null ? "again" : "with a predicate")}";
}
