using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>An asynchronous sequence, read one item at a time and advanced by one worker at a time.</summary>
internal sealed class AsyncSource<T>(IAsyncEnumerable<T> items) : TurnSource<T>
{
    private IAsyncEnumerator<T>? _enumerator;

    // Written only when the sequence does not answer at once, so that the common case pays no write barrier.
    private ValueTask<bool> _moving;

    public override int KnownCount => -1;

    public override void OnReady(Action continuation) => _moving.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override ValueTask DisposeAsync() => _enumerator?.DisposeAsync() ?? default;

    protected override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        IAsyncEnumerator<T> enumerator = _enumerator ??= items.GetAsyncEnumerator(CancellationToken);
        ValueTask<bool> moving = enumerator.MoveNextAsync();
        if (!moving.IsCompleted)
        {
            _moving = moving;
            return ClaimResult.Pending;
        }

        return Take(ref chunk, moving.GetAwaiter().GetResult(), index);
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishAdvance(ref Chunk<T> chunk, long index)
    {
        ValueTask<bool> moving = _moving;
        _moving = default;
        return Take(ref chunk, moving.GetAwaiter().GetResult(), index);
    }

    private ClaimResult Take(ref Chunk<T> chunk, bool moved, long index)
    {
        if (!moved)
        {
            return ClaimResult.Empty;
        }

        chunk.SetSingle(_enumerator!.Current, index);
        return ClaimResult.Claimed;
    }
}
