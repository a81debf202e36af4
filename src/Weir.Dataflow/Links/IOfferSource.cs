using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>A block's output side, as targets see it.</summary>
internal interface IOfferSource<T>
{
    IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions);

    T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed);

    bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target);

    void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target);
}
