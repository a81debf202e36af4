using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>
/// Items with consecutive indices that one worker runs one after the other, with nothing between two of them but a store and a load: that is what a direct
/// loop costs. All the same any of them can be given up while it runs, and those behind one that takes long can be taken away.
/// </summary>
/// <remarks>
/// The worker says which item it is at, and then reads how far it may go. Whoever takes items away says how far it may go, makes that known to
/// all threads with a process-wide barrier, and then reads where the worker is. One of the two sees what the other said, and the
/// worker pays for no barrier. Outcomes lie in the call's slots, or in a buffer of the range when there are none, until the range ends or somebody looks; then they
/// are handed on under the range's lock, each once.
/// </remarks>
internal sealed partial class ItemRange<TItem, TResult>(AutoCall<TItem, TResult> call)
{
    private readonly Lock _gate = new();
    private Chunk<TItem> _items;
    private ItemOutcome<TResult>[] _outcomes = call.Slots ?? [];
    private int _offset;
    private int _position;
    private int _limit;
    private int _count;
    private int _handedOn;
    private int _seen;
    private int _failures;

    // Counted here and not in one place for all workers, which would pass its memory to and fro.
    private long _succeeded;
    private long _unsuccessful;
    private bool _isActive;
    private bool _isAbandoned;
    private bool _isWaiting;
    private bool _isReturned;
    private bool _isRunning;
    private int _untoldItems;
    private long _untoldTicks;
    private long _waitStarted;

    /// <summary>The index of the first item.</summary>
    public long First { get; private set; }

    /// <summary>How many items it has, without those that were taken away.</summary>
    public int Count => _count;

    /// <summary>Whether it has items that nobody has the outcome of, of which this is the first.</summary>
    public bool IsAt(long first) => Volatile.Read(ref _isActive) && First == first;

    /// <summary>Takes items over, before any worker knows of the range.</summary>
    public void Begin(in Chunk<TItem> items)
    {
        using (_gate.Hold())
        {
            _items = items;
            First = items.FirstIndex;
            _count = items.Count;
            _handedOn = 0;
            _failures = 0;
            _seen = -1;
            _isWaiting = false;
            _isRunning = false;
            _isActive = true;
            _position = 0;
            _limit = _count;
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

    /// <summary>Runs the items, until one of them suspends.</summary>
    public RangePending<TItem, TResult> Run(CancellationToken cancellationToken)
    {
        long cpu = call.Pilot.WantsCpu ? ThreadClock.Now() : -1;
        long started = Stopwatch.GetTimestamp();
        int position = 0;
        try
        {
            if (RunItems(ref position, cancellationToken, out ValueTask<TResult> pending))
            {
                long now = Stopwatch.GetTimestamp();
                Suspend(position, now);
                Tell(position + 1, now - started, cpu < 0 ? -1 : ThreadClock.Now() - cpu, suspended: true);
                return new RangePending<TItem, TResult>(this, pending);
            }
        }
        catch (InvalidOperationException e) when (position == 0)
        {
            // The caller's list was changed meanwhile.
            call.SourceFailed(e);
            using (_gate.Hold())
            {
                StopAtNeedsLock(0);
            }
        }

        if (position > 0)
        {
            Tell(position, Stopwatch.GetTimestamp() - started, cpu < 0 ? -1 : ThreadClock.Now() - cpu, suspended: false);
        }

        return new RangePending<TItem, TResult>(this);
    }

    /// <summary>Tells the pilot what was measured; small claims of quick items together, because all workers tell the same one.</summary>
    private void Tell(int items, long ticks, long cpu, bool suspended)
    {
        bool isSpecial = suspended || cpu >= 0;
        if (!isSpecial)
        {
            items += _untoldItems;
            ticks += _untoldTicks;
            if (items < AutoPilot.FewItems && ticks < AutoPilot.FewTicks)
            {
                (_untoldItems, _untoldTicks) = (items, ticks);
                return;
            }
        }
        else if (_untoldItems > 0)
        {
            call.Pilot.Ran(_untoldItems, _untoldTicks, -1, suspended: false);
        }

        (_untoldItems, _untoldTicks) = (0, 0);
        call.Pilot.Ran(items, ticks, cpu, suspended);
    }

    /// <summary>The outcome of an item that failed, which may be its answer to the cancelled token.</summary>
    public ItemOutcome<TResult> Failed(Exception error) => call.Failed(error);

    /// <returns>Whether the item at the position suspended; otherwise the worker is done with the range.</returns>
    private bool RunItems(ref int at, CancellationToken cancellationToken, out ValueTask<TResult> suspended)
    {
        ReadOnlySpan<TItem> items = _items.Items;

        // From here on the worker knows where its items are, and what lies behind the one it runs may be taken away.
        Volatile.Write(ref _isRunning, true);
        int position = 0;
        suspended = default;
        while (true)
        {
            try
            {
                if (RunPlain(items, position, cancellationToken, ref suspended))
                {
                    at = _position;
                    return true;
                }

                position = _position;
            }
            catch (Exception e)
            {
                position = _position;
                _outcomes[_offset + position] = Failed(e);
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

    /// <summary>
    /// The loop that everything else is about. It has no handler of its own, because the position would then live in memory and its increment
    /// cost more than all the rest; instead the position is stored, and never loaded, once an item.
    /// </summary>
    /// <remarks>
    /// Compiled once, with all optimisations: called often and each time for a short loop, it would be counted and measured for its first hundreds of milliseconds, which
    /// makes tiny items five times as slow and is longer than most calls last.
    /// </remarks>
    /// <returns>Whether the item at the stored position suspended; otherwise the worker may not go on there.</returns>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private bool RunPlain(ReadOnlySpan<TItem> items, int position, CancellationToken cancellationToken, ref ValueTask<TResult> suspended)
    {
        Func<TItem, CancellationToken, ValueTask<TResult>> processor = call.Processor;
        Pump run = call.Run;
        Span<ItemOutcome<TResult>> outcomes = _outcomes.AsSpan(_offset);
        for (; ; position++)
        {
            // In this order; see the remarks of the class.
            Volatile.Write(ref _position, position);
            if (position >= Volatile.Read(ref _limit) || run.IsOver)
            {
                return false;
            }

            ValueTask<TResult> pending = processor(items[position], cancellationToken);
            if (!pending.IsCompleted)
            {
                suspended = pending;
                return true;
            }

            outcomes[position] = ItemOutcome<TResult>.Success(pending.GetAwaiter().GetResult());
        }
    }

    /// <summary>Asked by the worker when it may not go on, which may be true no longer.</summary>
    private bool Stops(int position)
    {
        using (_gate.Hold())
        {
            if (_isAbandoned || position >= _count)
            {
                return true;
            }

            if (!call.IsOver)
            {
                return false;
            }

            StopAtNeedsLock(position);
            return true;
        }
    }

    /// <summary>The run is over, and the items from a position on never run.</summary>
    private void StopAtNeedsLock(int position)
    {
        if (position > 0)
        {
            GiveBackFromNeedsLock(position);
        }
        else if (!_isAbandoned)
        {
            // As a whole: another range would have the same first item.
            _isReturned = true;
            call.Source.GiveBack(this);
        }
    }

    private void Suspend(int position, long now)
    {
        using (_gate.Hold())
        {
            if (_isAbandoned)
            {
                return;
            }

            GiveBackFromNeedsLock(position + 1);
            HandOnNeedsLock(position);
            _isWaiting = true;
            _waitStarted = now;
        }
    }

    /// <summary>Makes the items from a position on a range of their own, for whoever claims it.</summary>
    private void GiveBackFromNeedsLock(int position)
    {
        if (position < _count)
        {
            // The copy owns the memory then.
            Chunk<TItem> items = _items;
            _items = default;
            _count = position;
            _limit = position;
            call.Source.GiveBack(items.TakeRest(position));
        }
    }

    /// <summary>Hands on the outcomes of the items before a position that were not handed on yet.</summary>
    private void HandOnNeedsLock(int position)
    {
        Debug.Assert(_gate.IsHeldByCurrentThread, "Outcomes are handed on under the lock, each once.");
        if (position > _handedOn)
        {
            ReadOnlySpan<ItemOutcome<TResult>> outcomes = _outcomes.AsSpan(_offset + _handedOn, position - _handedOn);
            int unsuccessful = _failures == 0 ? 0 : CountUnsuccessful(outcomes);
            _unsuccessful += unsuccessful;
            _succeeded += outcomes.Length - unsuccessful;
            call.Store(First + _handedOn, outcomes);
            _handedOn = position;
        }
    }

    private static int CountUnsuccessful(ReadOnlySpan<ItemOutcome<TResult>> outcomes)
    {
        int count = 0;
        foreach (ref readonly ItemOutcome<TResult> outcome in outcomes)
        {
            count += outcome.IsSuccess ? 0 : 1;
        }

        return count;
    }
}
