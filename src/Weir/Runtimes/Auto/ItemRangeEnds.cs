using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <content>How a range ends, and what others may do to it before.</content>
internal sealed partial class ItemRange<TItem, TResult>
{
    public override bool HasItemEnded => _pending.IsCompleted;

    public override bool HasItemSucceeded => _pending.IsCompletedSuccessfully;

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    public override void ItemBecomesTask() => _pending = CallsBackOnce.Of(_pending);

    public override void OnItemEnded(Action continuation) => _pending.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override void TakeItem()
    {
        ItemOutcome<TResult> outcome;
        try
        {
            outcome = ItemOutcome<TResult>.Success(_pending.Result);
        }
        catch (Exception e)
        {
            outcome = call.Failed(e);
        }

        _pending = default;
        bool isLate;
        using (_lock.Hold())
        {
            isLate = _isAbandoned || !_isWaiting;
            if (!isLate)
            {
                _isWaiting = false;
                _failures += outcome.IsSuccess ? 0 : 1;
                _isTaken = true;
                _outcomes[_offset + _count - 1] = outcome;
            }
        }

        if (isLate)
        {
            // An abandoned call, whose item already has its outcome.
            Drop(outcome);
            return;
        }

        call.Pilot.Waited(Stopwatch.GetTimestamp() - _waitStarted, !outcome.IsSuccess);
    }

    public override void End()
    {
        bool isLost;
        using (_lock.Hold())
        {
            if (_isReturned)
            {
                return;
            }

            DeliverNeedsLock(_count);
            _isActive = false;
            isLost = _failures > 0 && CountNotRun(0, _count) > 0;
            _last = default;
            call.Source.ReleaseItems(ref _items);
        }

        // Ranges of keyed items have one item each. One that never made its call has not ended: its queue keeps it.
        if (!isLost)
        {
            call.Lanes?.ItemEnded(First);
        }

        call.Return(this);
    }

    /// <summary>The range is given up: the running item gets the outcome, the items before it have theirs, and the items behind it go back.</summary>
    /// <remarks>The worker may stay inside the call for long, so the range is never reused.</remarks>
    public void GiveUp(ItemStatus status, Exception? error)
    {
        bool waited;
        ItemOutcome<TResult> late = default;
        using (_lock.Hold())
        {
            if (!_isActive || _isReturned)
            {
                return;
            }

            _isAbandoned = true;
            _isActive = false;
            waited = _isWaiting;
            int at = _count - 1;
            if (!_isWaiting && _count > 1)
            {
                at = (int)_cursor.Close(0);
            }

            DeliverNeedsLock(Math.Min(at, _count));
            if (at < _count)
            {
                KeepLastNeedsLock(at);
                GiveBackFromNeedsLock(at + 1);
                _givenUp = at;
                _unsuccessful++;
                call.StoreGivenUp(First + at, status, error);
                _delivered = _count;
                late = TakeLateNeedsLock(_isTaken ? at + 1 : Position);
            }
        }

        Drop(late);
        call.Lanes?.ItemEnded(First);
        call.Forget(this);
        if (waited)
        {
            call.Pilot.RecordGivenUp();
        }
    }

    /// <summary>Called every few milliseconds. Hands on the outcomes of ended items, and takes away the items that wait behind one that takes long.</summary>
    /// <param name="isStuck">Whether the worker is inside the same item's call as last time.</param>
    /// <returns>Whether there are now more items to claim.</returns>
    public bool ShareIfStuck(out bool isStuck)
    {
        using (_lock.Hold())
        {
            isStuck = false;
            int position = Position;
            if (!Volatile.Read(ref _isRunning) || !_isActive || _isWaiting || _isReturned || position >= _count)
            {
                return false;
            }

            isStuck = position == _seen;
            _seen = position;
            if (!isStuck)
            {
                return false;
            }

            DeliverNeedsLock(position);
            int next = position + 1;
            if (next >= _count)
            {
                return false;
            }

            if (_cursor.Close(next) >= next)
            {
                // It has just continued. If it saw the new limit, it will take the lock and then find the old limit again.
                _cursor.Open(_count);
                isStuck = false;
                return false;
            }

            GiveBackFromNeedsLock(next);
            return true;
        }
    }

    /// <summary>Adds the ended items, handed on or not.</summary>
    public void AddTo(ref RunSample sample)
    {
        using (_lock.Hold())
        {
            sample.Succeeded += _succeeded;
            sample.Unsuccessful += _unsuccessful;
            if (!_isActive || _isWaiting)
            {
                return;
            }

            int position = Math.Min(Position, _count);
            if (position > _delivered)
            {
                int unsuccessful = CountUnsuccessful(_delivered, position - _delivered);
                sample.Unsuccessful += unsuccessful;
                sample.Succeeded += position - _delivered - unsuccessful;
            }
        }
    }
}
