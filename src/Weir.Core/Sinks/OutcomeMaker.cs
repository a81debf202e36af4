using System.Runtime.CompilerServices;
using Weir.Core.Sources;

namespace Weir.Core.Sinks;

/// <summary>Makes the outcomes of a run, each with its item. The default one, for tests, knows no items.</summary>
/// <remarks>It changes nothing in the loop over the items: an item in memory is read again, and any other is kept when it is read.</remarks>
internal readonly struct OutcomeMaker<TItem, TResult>
{
    private readonly IndexedSource<TItem>? _memory;
    private readonly ItemsRead<TItem>? _read;
    private readonly Func<long, Exception?, ItemDetails>? _details;

    /// <param name="source">The source of the run, which has not begun.</param>
    /// <param name="keepsAll">Whether all outcomes are kept until the end.</param>
    /// <param name="details">Makes the details of an item that has its outcome now; null if nobody asks for them.</param>
    public OutcomeMaker(Source<TItem> source, bool keepsAll, Func<long, Exception?, ItemDetails>? details = null)
    {
        _details = details;
        _memory = source.InMemory;
        if (_memory is null)
        {
            source.Keeper = _read = new ItemsRead<TItem>(source, keepsAll ? new Segments<TItem>() : null);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ItemOutcome<TItem, TResult> Success(long index, TResult result) =>
        new(ItemAt(index), result, _details?.Invoke(index, null), ItemStatus.Succeeded);

    public ItemOutcome<TItem, TResult> Without(long index, ItemStatus status, Exception? error) =>
        new(ItemAt(index), default, _details is null ? error : _details(index, error), status);

    /// <summary>Reads what the run did not come to, which may run code of the user.</summary>
    /// <param name="first">Its index.</param>
    public void ReadRest(long first) => _ = ItemAt(first);

    private TItem ItemAt(long index) => (_memory is { } memory ? memory.At(index) : _read is { } read ? read.Take(index) : default)!;
}
