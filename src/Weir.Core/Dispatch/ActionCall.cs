using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>Calls only the user's action.</summary>
internal readonly struct ActionCall<TItem>(Func<TItem, CancellationToken, ValueTask> action) : ICall<TItem, PendingNothing>
{
    private readonly Func<TItem, CancellationToken, ValueTask> _action = action;

    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public PendingNothing Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) => new(_action(item, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingNothing pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}
