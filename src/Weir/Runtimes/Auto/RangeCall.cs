using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir.Runtimes;

/// <summary>What the engine calls for each of its own items, each of which is a range of the caller's items.</summary>
internal readonly struct RangeCall<TItem, TResult> : ICall<ItemRange<TItem, TResult>, RangePending<TItem, TResult>>
{
    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public RangePending<TItem, TResult> Invoke(ItemRange<TItem, TResult> item, long index, bool isFirst, CancellationToken cancellationToken) =>
        item.Run(cancellationToken);

    public void InvokeInto(
        ItemRange<TItem, TResult> item, long index, bool isFirst, CancellationToken cancellationToken, ref RangePending<TItem, TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(ItemRange<TItem, TResult>? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}
