using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>Calls only the user's selector.</summary>
internal readonly struct SelectorCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector)
    : ICall<TItem, PendingResult<TResult>>
{
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _selector = selector;

    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) => new(_selector(item, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingResult<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}
