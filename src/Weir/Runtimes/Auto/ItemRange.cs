using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>
/// Items with consecutive indices that one worker runs one after the other, with only a store and a load between two of them, as cheap as a direct loop. Even
/// so, any item can be given up while it runs, and the items behind one that takes long can be taken away.
/// </summary>
/// <remarks>
/// Another thread that takes items away closes the worker's <see cref="ClosableCursor"/>; the range's lock decides. Outcomes stay in the call's slots, or in a
/// buffer of the range if there are no slots, until the range ends or another thread looks. Then they are handed on under the lock, each exactly once.
/// </remarks>
internal sealed partial class ItemRange<TItem, TResult>(AutoCall<TItem, TResult> call) : WorkRange
{
    private readonly Lock _lock = new();
    private Chunk<TItem> _items;
    private ItemOutcome<TResult>[] _outcomes = call.Slots ?? [];
    private int _offset;
    private ClosableCursor _cursor;
    private int _count;
    private int _delivered;
    private int _seen;
    private int _failures;

    // Counted per range, because workers would pass the cache line of a shared counter back and forth.
    private long _succeeded;
    private long _unsuccessful;
    private bool _isActive;
    private bool _isAbandoned;
    private bool _isWaiting;
    private bool _isReturned;
    private bool _isRunning;
    private int _unreportedItems;
    private long _unreportedTicks;
    private long _waitStarted;

    // The item that was given up, or -1; whether the range has taken the item that it waited for; and its last item, once the memory of the items is another
    // range's.
    private int _givenUp = -1;
    private bool _isTaken;
    private TItem? _last;

    // The item that the range waits for. Only for the worker.
    private ValueTask<TResult> _pending;

    /// <summary>The number of items, without those that were taken away.</summary>
    public int Count => _count;

    /// <summary>Where the worker is: in the call of this item, or right before or behind it.</summary>
    private int Position => (int)_cursor.Position;

    /// <summary>Whether the range is active, with items that have no outcome yet, and starts with the given item.</summary>
    public bool IsAt(long first) => Volatile.Read(ref _isActive) && First == first;

    /// <summary>Takes over items, before any worker knows of the range.</summary>
    public void Begin(in Chunk<TItem> items)
    {
        using (_lock.Hold())
        {
            _items = items;
            First = items.FirstIndex;
            _count = items.Count;
            _delivered = 0;
            _failures = 0;
            _seen = -1;
            _isWaiting = false;
            _isRunning = false;
            _isTaken = false;
            _isActive = true;
            _cursor.Begin(0, _count);
            if (call.Slots is not null)
            {
                _offset = (int)First;
            }
            else if (_outcomes.Length < _count)
            {
                _outcomes = new ItemOutcome<TResult>[_count];
            }
        }
    }

    public override RangePending Run(CancellationToken cancellationToken)
    {
        long cpu = call.Pilot.WantsCpu ? ThreadClock.Now() : -1;
        long started = Stopwatch.GetTimestamp();
        int position = 0;
        try
        {
            if (RunItems(ref position, cancellationToken))
            {
                long now = Stopwatch.GetTimestamp();
                Suspend(position, now);
                Report(position + 1, now - started, cpu < 0 ? -1 : ThreadClock.Now() - cpu, suspended: true);
                return new RangePending(this, waits: true);
            }
        }
        catch (InvalidOperationException e) when (position == 0)
        {
            // The caller's list was changed during the call.
            call.SourceFailed(e);
            using (_lock.Hold())
            {
                StopAtNeedsLock(0);
            }
        }

        if (position > 0)
        {
            Report(position, Stopwatch.GetTimestamp() - started, cpu < 0 ? -1 : ThreadClock.Now() - cpu, suspended: false);
        }

        return new RangePending(this, waits: false);
    }

    /// <summary>Reports the measurements to the pilot. Small claims of quick items are combined, because all workers report to the same pilot.</summary>
    private void Report(int items, long ticks, long cpu, bool suspended)
    {
        bool isSpecial = suspended || cpu >= 0;
        if (!isSpecial)
        {
            items += _unreportedItems;
            ticks += _unreportedTicks;
            if (items < AutoPilot.FewItems && ticks < AutoPilot.FewTicks)
            {
                (_unreportedItems, _unreportedTicks) = (items, ticks);
                return;
            }
        }
        else if (_unreportedItems > 0)
        {
            call.Pilot.RecordItems(_unreportedItems, _unreportedTicks, -1, suspended: false);
        }

        (_unreportedItems, _unreportedTicks) = (0, 0);
        call.Pilot.RecordItems(items, ticks, cpu, suspended);
    }

    /// <returns>Whether the item at the position suspended; if not, the worker has finished the range.</returns>
    private bool RunItems(ref int at, CancellationToken cancellationToken)
    {
        ReadOnlySpan<TItem> items = _items.Items;

        // From here on, the worker knows where its items are, and those behind the one it runs may be taken away.
        Volatile.Write(ref _isRunning, true);
        int position = 0;
        while (true)
        {
            try
            {
                if (items.Length == 1 ? RunOne(items, position, cancellationToken) : RunPlain(items, position, cancellationToken))
                {
                    at = Position;
                    return true;
                }

                position = Position;
            }
            catch (Exception e)
            {
                position = Position;
                _outcomes[_offset + position] = call.Failed(e);
                _failures++;
                position++;
                continue;
            }

            if (Stops(position))
            {
                at = position;
                return false;
            }
        }
    }

    /// <summary>As <see cref="RunPlain"/>, for a range of one item, which needs no loop. It is compiled ahead, and first calls run nothing else.</summary>
    private bool RunOne(ReadOnlySpan<TItem> items, int position, CancellationToken cancellationToken)
    {
        if (!_cursor.TryMoveTo(position) || call.IsOver)
        {
            return false;
        }

        ValueTask<TResult> pending = call.Processor(items[position], cancellationToken);
        if (!pending.IsCompleted)
        {
            _pending = pending;
            return true;
        }

        _outcomes[_offset + position] = ItemOutcome<TResult>.Success(pending.Result);
        _cursor.TryMoveTo(position + 1);
        return false;
    }

    /// <summary>
    /// The innermost loop. It has no exception handler, because then the position would live in memory and its increment would cost more than everything else.
    /// Instead, the position is stored once per item and never loaded.
    /// </summary>
    /// <remarks>
    /// Compiled once, with all optimisations. It is called often, each time for a short loop, so tiered compilation would count and measure it for its first
    /// hundreds of milliseconds. That makes tiny items five times as slow and is longer than most calls last.
    /// </remarks>
    /// <returns>Whether the item at the stored position suspended; if not, the worker may not continue there.</returns>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private bool RunPlain(ReadOnlySpan<TItem> items, int position, CancellationToken cancellationToken)
    {
        Func<TItem, CancellationToken, ValueTask<TResult>> processor = call.Processor;
        Pump run = call.Run;
        Span<ItemOutcome<TResult>> outcomes = _outcomes.AsSpan(_offset);
        for (; ; position++)
        {
            if (!_cursor.TryMoveTo(position) || run.IsOver)
            {
                return false;
            }

            ValueTask<TResult> pending = processor(items[position], cancellationToken);
            if (!pending.IsCompleted)
            {
                _pending = pending;
                return true;
            }

            outcomes[position] = ItemOutcome<TResult>.Success(pending.GetAwaiter().GetResult());
        }
    }

    /// <summary>Called by the worker when it may not continue, which may no longer be true.</summary>
    private bool Stops(int position)
    {
        ItemOutcome<TResult> late;
        using (_lock.Hold())
        {
            if (!_isAbandoned && position < _count)
            {
                if (!call.IsOver)
                {
                    return false;
                }

                StopAtNeedsLock(position);
                return true;
            }

            late = TakeLateNeedsLock(position);
        }

        Drop(late);
        return true;
    }

    /// <summary>
    /// The outcome of the item that was given up, if its call has left one: once, for whoever comes second, the worker behind the item or the thread that gave
    /// it up.
    /// </summary>
    /// <param name="position">Where the worker is.</param>
    private ItemOutcome<TResult> TakeLateNeedsLock(int position)
    {
        if (_givenUp < 0 || position <= _givenUp)
        {
            return default;
        }

        ItemOutcome<TResult> late = _outcomes[_offset + _givenUp];
        _givenUp = -1;
        return late;
    }

    /// <summary>Disposes of a result that nobody will have.</summary>
    private void Drop(in ItemOutcome<TResult> late)
    {
        if (late.IsSuccess)
        {
            DiscardedResult.Drop(_last, late.Value);
        }
    }

    /// <summary>The run has ended, and the items from a position on never run.</summary>
    private void StopAtNeedsLock(int position)
    {
        if (position > 0)
        {
            GiveBackFromNeedsLock(position);
        }
        else if (!_isAbandoned)
        {
            // The range as a whole: another one would have the same first item.
            _isReturned = true;
            call.Source.GiveBack(this);
        }
    }

    private void Suspend(int position, long now)
    {
        using (_lock.Hold())
        {
            if (_isAbandoned)
            {
                return;
            }

            GiveBackFromNeedsLock(position + 1);
            DeliverNeedsLock(position);
            _isWaiting = true;
            _waitStarted = now;
        }
    }

    /// <summary>Turns the items from a position on into a separate range, for any worker to claim.</summary>
    private void GiveBackFromNeedsLock(int position)
    {
        if (position < _count)
        {
            // From then on, the copy owns the memory.
            Chunk<TItem> items = _items;
            KeepLastNeedsLock(position - 1);
            _items = default;
            _count = position;
            _cursor.Open(position);
            call.Source.GiveBack(items.TakeRest(position));
        }
    }

    /// <summary>Remembers the last item of the range where a result of it may come too late.</summary>
    private void KeepLastNeedsLock(int position)
    {
        if (DiscardedResult<TResult>.MayBeDisposable && position >= 0 && position < _items.Count)
        {
            try
            {
                _last = _items.Items[position];
            }
            catch (InvalidOperationException)
            {
                // The caller's list was changed during the call.
            }
        }
    }

    /// <summary>Hands on the outcomes of the items before a position that have not been handed on yet.</summary>
    private void DeliverNeedsLock(int position)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "Outcomes are handed on under the lock, each once.");
        if (position > _delivered)
        {
            int count = position - _delivered;
            int unsuccessful = _failures == 0 ? 0 : CountUnsuccessful(_delivered, count);
            _unsuccessful += unsuccessful;
            _succeeded += count - unsuccessful - (_failures == 0 ? 0 : CountNotRun(_delivered, count));
            call.Store(First + _delivered, _outcomes, _offset + _delivered, count);
            _delivered = position;
        }
    }

    private int CountUnsuccessful(int first, int count)
    {
        int unsuccessful = 0;
        for (int i = 0; i < count; i++)
        {
            unsuccessful += _outcomes[_offset + first + i].Status is ItemStatus.Succeeded or ItemStatus.NotRun ? 0 : 1;
        }

        return unsuccessful;
    }

    private int CountNotRun(int first, int count)
    {
        int notRun = 0;
        for (int i = 0; i < count; i++)
        {
            notRun += _outcomes[_offset + first + i].Status == ItemStatus.NotRun ? 1 : 0;
        }

        return notRun;
    }
}
