using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Cores;

/// <summary>Two ends of a network as one block.</summary>
/// <remarks>
/// Targets are linked to the source itself, so it sees them consume and can count for MaxMessages.
/// </remarks>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
internal sealed class EncapsulatedBlock<TIn, TOut>(
    ITargetBlock<TIn> target, ISourceBlock<TOut> source) : IPropagatorBlock<TIn, TOut>, IReceivableSourceBlock<TOut>
{
    public Task Completion => source.Completion;

    private string DebuggerDisplay => $"Target={target}, Source={source}";

    public void Complete() => target.Complete();

    void IDataflowBlock.Fault(Exception exception) => target.Fault(exception);

    public DataflowMessageStatus OfferMessage(DataflowMessageHeader messageHeader, TIn messageValue, ISourceBlock<TIn>? source, bool consumeToAccept) =>
        target.OfferMessage(messageHeader, messageValue, source, consumeToAccept);

    public IDisposable LinkTo(ITargetBlock<TOut> target, DataflowLinkOptions linkOptions) => source.LinkTo(target, linkOptions);

    public bool TryReceive(Predicate<TOut>? filter, [MaybeNullWhen(false)] out TOut item)
    {
        if (source is IReceivableSourceBlock<TOut> receivable)
        {
            return receivable.TryReceive(filter, out item);
        }

        item = default;
        return false;
    }

    public bool TryReceiveAll([NotNullWhen(true)] out IList<TOut>? items)
    {
        if (source is IReceivableSourceBlock<TOut> receivable)
        {
            return receivable.TryReceiveAll(out items);
        }

        items = null;
        return false;
    }

    TOut? ISourceBlock<TOut>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<TOut> target, out bool messageConsumed) =>
        source.ConsumeMessage(messageHeader, target, out messageConsumed);

    bool ISourceBlock<TOut>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<TOut> target) => source.ReserveMessage(messageHeader, target);

    void ISourceBlock<TOut>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<TOut> target) =>
        source.ReleaseReservation(messageHeader, target);
}
