using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>What the engine calls for each of its own items, each of which is a range of the caller's items.</summary>
internal readonly struct RangeCall : ICall<WorkRange, RangePending>
{
    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public RangePending Invoke(WorkRange item, long index, bool isFirst, CancellationToken cancellationToken) => item.Run(cancellationToken);

    public void InvokeInto(WorkRange item, long index, bool isFirst, CancellationToken cancellationToken, ref RangePending pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(WorkRange? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}
