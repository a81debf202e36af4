using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Stores results by index for a source of unknown count, in segments that never move and are joined into the list at the end.</summary>
internal readonly struct GrowingListSink<TResult>(ListCompletion<TResult> completion) : ISink<TResult>
{
    private readonly ListCompletion<TResult> _completion = completion;
    private readonly Segments<TResult> _segments = new();

    public bool HasSlots => false;

    // Not the most that a list may have: the run would wait there for room, and says at its end, or earlier, that there are too many.
    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _segments[index] = result;

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _completion.Skip(index);

    public void Complete(RunEnd end) => _completion.Complete(end, _segments);
}
