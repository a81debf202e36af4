using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Core.Sinks;

/// <summary>Stores results directly in the list that the caller gets, for a source whose count is known.</summary>
internal readonly struct ListSink<TResult>(ListCompletion<TResult> completion) : ISink<TResult>
{
    private readonly ListCompletion<TResult> _completion = completion;
    private readonly List<TResult> _list = completion.List;

    public bool HasSlots => true;

    public long Ceiling => long.MaxValue;

    // The list's own storage is the slot array. No other code has the list yet, and its full length was set before the start.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Span<TResult> Slots(long first, int count) => CollectionsMarshal.AsSpan(_list).Slice((int)first, count);

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => CollectionsMarshal.AsSpan(_list)[(int)index] = result;

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _completion.Skip(index);

    public void Complete(RunEnd end) => _completion.Complete(end);
}
