using System.Buffers;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Channels;

namespace Weir.Core.Sources;

/// <summary>
/// Items of a sequence that one reader at a time may advance. A worker that finds the turn taken leaves, because the reader that has it continues.
/// </summary>
internal abstract class TurnSource<T> : Source<T>
{
    private Turn _turn;
    private volatile bool _drained;
    private long _next;

    public sealed override bool TakesTurns => true;

    public sealed override bool IsReading => _turn.IsReading;

    public sealed override bool HasReader => _turn.IsTaken;

    public sealed override long NextIndex => Volatile.Read(ref _next);

    protected sealed override bool IsTurnTaken => _turn.IsTaken;

    protected override bool IsDrained => _drained;

    public sealed override ClaimResult FinishClaim(ref Chunk<T> chunk)
    {
        try
        {
            return Leave(FinishAdvance(ref chunk, _next), chunk.Count);
        }
        catch
        {
            Drain();
            throw;
        }
    }

    protected sealed override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        if (_drained)
        {
            return ClaimResult.Empty;
        }

        if (Volatile.Read(ref _next) >= ceiling)
        {
            return ClaimResult.Throttled;
        }

        if (!HasOneReader && !_turn.TryTake())
        {
            return ClaimResult.Busy;
        }

        if (_drained || _next >= ceiling || HasStash)
        {
            // Items that were given back before the turn was taken come first, because no other worker may look after them while this one reads.
            GiveUpTurn();
            return HasStash ? ClaimResult.Stashed : _drained ? ClaimResult.Empty : ClaimResult.Throttled;
        }

        try
        {
            return Leave(Advance(ref chunk, (int)Math.Min(max, ceiling - _next), _next), chunk.Count);
        }
        catch
        {
            Drain();
            throw;
        }
    }

    /// <summary>Reads up to <paramref name="max"/> items. Only the holder of the turn gets here.</summary>
    /// <returns>Claimed, Empty or Pending.</returns>
    protected abstract ClaimResult Advance(ref Chunk<T> chunk, int max, long index);

    protected virtual ClaimResult FinishAdvance(ref Chunk<T> chunk, long index) => throw new System.Diagnostics.UnreachableException();

    /// <summary>The sequence has ended, in whatever way. Only for the holder of the turn, which thereby gives it up.</summary>
    private void Drain()
    {
        _drained = true;
        GiveUpTurn();
    }

    private ClaimResult Leave(ClaimResult result, int count)
    {
        if (result == ClaimResult.Claimed)
        {
            _next += count;
        }
        else if (result is not (ClaimResult.Pending or ClaimResult.Paused))
        {
            _drained = true;
        }

        return HasOneReader ? result : LeaveTurn(ref _turn, result);
    }

    private void GiveUpTurn()
    {
        if (!HasOneReader)
        {
            _turn.GiveUp();
        }
    }
}

/// <summary>
/// A sequence whose next step may run user code or wait. It is read one item at a time, and each item starts at once: no item that has been read waits for the
/// next one to be produced.
/// </summary>
internal abstract class OneByOneSource<T> : TurnSource<T>
{
    public sealed override int KnownCount => -1;

    protected sealed override ClaimResult Advance(ref Chunk<T> chunk, int max, long index) => Set(ref chunk, Step(out T? item), item, index);

    protected sealed override ClaimResult FinishAdvance(ref Chunk<T> chunk, long index) => Set(ref chunk, FinishStep(out T? item), item, index);

    /// <summary>Reads one item.</summary>
    /// <returns>Claimed, Empty or Pending.</returns>
    protected abstract ClaimResult Step(out T? item);

    /// <summary>Ends a step that was pending.</summary>
    protected virtual ClaimResult FinishStep(out T? item) => throw new UnreachableException();

    private ClaimResult Set(ref Chunk<T> chunk, ClaimResult result, T? item, long index)
    {
        if (result == ClaimResult.Claimed)
        {
            Keeper?.Add(index, item!);
            chunk.SetSingle(item!, index);
        }

        return result;
    }
}

/// <summary>A sequence whose MoveNext may run user code or block.</summary>
internal sealed class LazySource<T>(IEnumerable<T> items) : OneByOneSource<T>
{
    private IEnumerator<T>? _enumerator;

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Step(out T? item)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        if (!enumerator.MoveNext())
        {
            item = default;
            return ClaimResult.Empty;
        }

        item = enumerator.Current;
        return ClaimResult.Claimed;
    }
}

/// <summary>An asynchronous sequence.</summary>
internal sealed class AsyncSource<T>(IAsyncEnumerable<T> items) : OneByOneSource<T>
{
    private IAsyncEnumerator<T>? _enumerator;

    // Written only if the sequence does not complete synchronously, so that the common case needs no write barrier.
    private ValueTask<bool> _moving;

    public override void OnReady(Action continuation) => _moving.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override ValueTask DisposeAsync() => _enumerator?.DisposeAsync() ?? default;

    protected override ClaimResult Step(out T? item)
    {
        IAsyncEnumerator<T> enumerator = _enumerator ??= items.GetAsyncEnumerator(CancellationToken);
        ValueTask<bool> moving = enumerator.MoveNextAsync();
        if (!moving.IsCompleted)
        {
            _moving = moving;
            item = default;
            return ClaimResult.Pending;
        }

        return Take(moving.GetAwaiter().GetResult(), out item);
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out T? item)
    {
        ValueTask<bool> moving = _moving;
        _moving = default;
        return Take(moving.GetAwaiter().GetResult(), out item);
    }

    private ClaimResult Take(bool moved, out T? item)
    {
        item = moved ? _enumerator!.Current : default;
        return moved ? ClaimResult.Claimed : ClaimResult.Empty;
    }
}

/// <summary>
/// The items of a channel. One worker at a time reads, because the channel may have been created for a single reader.
/// </summary>
internal sealed class ChannelSource<T>(ChannelReader<T> reader) : OneByOneSource<T>
{
    private ValueTask<bool> _waiting;

    public override void OnReady(Action continuation) => _waiting.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    protected override ClaimResult Step(out T? item)
    {
        while (!reader.TryRead(out item))
        {
            ValueTask<bool> waiting = reader.WaitToReadAsync(CancellationToken);
            if (!waiting.IsCompleted)
            {
                _waiting = waiting;
                return ClaimResult.Pending;
            }

            if (!waiting.GetAwaiter().GetResult())
            {
                return ClaimResult.Empty;
            }
        }

        return ClaimResult.Claimed;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out T? item)
    {
        ValueTask<bool> waiting = _waiting;
        _waiting = default;
        bool hasMore = waiting.GetAwaiter().GetResult();
        if (hasMore && !IsHeld)
        {
            return Step(out item);
        }

        // While nothing may begin, the item stays in the channel.
        item = default;
        return hasMore ? ClaimResult.Paused : ClaimResult.Empty;
    }
}

/// <summary>
/// A materialised collection without an index (a set, a queue, a range). Its items already exist, so reading a chunk of them
/// makes no item wait. Each worker reads into a small buffer of its own, never the whole collection.
/// </summary>
internal sealed class CollectionSource<T>(IEnumerable<T> items, int count) : TurnSource<T>
{
    private IEnumerator<T>? _enumerator;

    private List<T>? _unread;

    public override int KnownCount => count;

    public override void Release(ref Chunk<T> chunk)
    {
        if (chunk.Array is { } buffer)
        {
            ArrayPool<T>.Shared.Return(buffer, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<T>());
        }

        chunk.Clear();
    }

    public override T? UnreadAt(long index)
    {
        _unread ??= ReadUnread();
        long place = index - NextIndex;
        return place >= 0 && place < _unread.Count ? _unread[(int)place] : default;
    }

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        max = (int)Math.Min(max, Math.Max(1, (count - index) >> 3));
        T[]? buffer = chunk.Array;
        if (buffer is null || buffer.Length < max)
        {
            if (buffer is not null)
            {
                ArrayPool<T>.Shared.Return(buffer, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<T>());
                chunk.Clear();
            }

            buffer = ArrayPool<T>.Shared.Rent(max);
            chunk.SetArray(buffer, 0, 0, index);
        }

        int read = 0;
        while (read < max && enumerator.MoveNext())
        {
            buffer[read++] = enumerator.Current;
        }

        for (int i = 0; Keeper is { } keeper && i < read; i++)
        {
            keeper.Add(index + i, buffer[i]);
        }

        chunk.SetArray(buffer, 0, read, index);
        if (read == 0)
        {
            return index == count ? ClaimResult.Empty : throw Changed();
        }

        return index + read <= count ? ClaimResult.Claimed : throw Changed();
    }

    // Once more from the start: the run has closed its enumerator.
    private List<T> ReadUnread()
    {
        try
        {
            return [.. items.Skip((int)NextIndex)];
        }
        catch (Exception)
        {
            // The collection was changed meanwhile, or is code of the user that fails.
            return [];
        }
    }

    private static InvalidOperationException Changed() =>
        new("The source collection had another number of items than its Count said: it was changed while the run was reading it.");
}

/// <summary>A synchronous sequence that may block. It is advanced on a pool thread, so that the thread that waits for the step need not block.</summary>
internal sealed class OffloadedEnumerable<T>(IEnumerable<T> items) : IAsyncEnumerable<T>
{
    public IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellationToken = default) => new Enumerator(items.GetEnumerator());

    private sealed class Enumerator(IEnumerator<T> inner) : IAsyncEnumerator<T>
    {
        public T Current => inner.Current;

        public ValueTask<bool> MoveNextAsync() => new(Task.Run(inner.MoveNext));

        public ValueTask DisposeAsync()
        {
            inner.Dispose();
            return default;
        }
    }
}
