using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>
/// Items that can be given up while they run, because a time limit passed or their runtime ends, also when the call never returns.
/// One word says where the item stands; whoever moves it on from there decides the item's outcome, so there is exactly one.
/// A worker whose item was given up is an orphan: it touches nothing of the run any more, and another worker takes its place.
/// </content>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends in Retire; the token source has no resources.")]
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    private const int StateBits = 3;
    private const long StateMask = (1 << StateBits) - 1;

    // The states of an item. The rest of the word is the item's serial number, so that a late timer cannot hit the next item.
    private const long Idle = 0;
    private const long InCall = 1;
    private const long Moving = 2;
    private const long Waiting = 3;
    private const long Abandoned = 4;

    private long _guard;
    private long _deadline;
    private object? _host;
    private CancellationTokenSource? _itemStop;
    private ITimer? _timer;
    private Exception? _handed;

    public override void Retire()
    {
        _timer?.Dispose();
        _timer = null;
    }

    public override bool TryAbandon(ItemStatus status, Exception? error)
    {
        long guard = Volatile.Read(ref _guard);
        while ((guard & StateMask) == Moving)
        {
            // A few instructions of the worker's own thread.
            Thread.SpinWait(16);
            guard = Volatile.Read(ref _guard);
        }

        if ((guard & StateMask) is not (InCall or Waiting) || !Detach(guard))
        {
            return false;
        }

        run.Sink.Unsuccessful(_index, status, error);
        _unsuccessful++;
        return true;
    }

    private Done RunGuardedChunk()
    {
        ReadOnlySpan<TItem> items = _chunk.Items;
        TCall call = run.Call;
        bool timed = run.Settings.ItemTimeout is not null;
        _host = run.Settings.Executor.CurrentHost;
        for (int position = _chunk.Position; position < items.Length; position++)
        {
            if (run.IsOver)
            {
                run.Source.GiveBack(_chunk.TakeRest(position));
                return Done.Ready;
            }

            long index = _chunk.FirstIndex + position;
            _index = index;
            _chunk.Position = position + 1;
            CancellationToken token = timed ? StartClock() : run.Token;
            long inCall = (_guard & ~StateMask) + (1 << StateBits) + InCall;
            Volatile.Write(ref _guard, inCall);

            TResult result;
            try
            {
                TPending pending = call.Invoke(items[position], index, token);
                if (!pending.IsCompleted)
                {
                    return WaitForGuardedCall(pending, inCall);
                }

                result = pending.GetResult();
            }
            catch (Exception e)
            {
                return TryEndItem(inCall) ? Fail(index, ItemStatus.Failed, e) : Done.Left;
            }

            if (!TryEndItem(inCall))
            {
                return Done.Left;
            }

            run.Sink.Succeeded(index, result);
            _succeeded++;
        }

        return Done.Ready;
    }

    private Done WaitForGuardedCall(TPending pending, long inCall)
    {
        if (Interlocked.CompareExchange(ref _guard, inCall - InCall + Moving, inCall) != inCall)
        {
            Observe(pending);
            return Done.Left;
        }

        GiveBackFrom(_chunk.Position);
        _pending = pending;
        _pace.Reset();
        _wait = Wait.Call;
        StopsExecuting();
        Action continuation = Continuation;
        Volatile.Write(ref _guard, inCall - InCall + Waiting);
        pending.OnCompleted(continuation);
        return Done.Waits;
    }

    private Done FinishGuardedCall()
    {
        long index = _index;
        TPending pending = _pending;
        long guard = Volatile.Read(ref _guard);
        bool mine = (guard & StateMask) == Waiting && TryEndItem(guard);
        TResult result;
        try
        {
            result = pending.GetResult();
        }
        catch (Exception e)
        {
            return mine ? Fail(index, ItemStatus.Failed, e) : Done.Left;
        }

        if (!mine)
        {
            return Done.Left;
        }

        _pending = default;
        run.Sink.Succeeded(index, result);
        _succeeded++;
        return Done.Ready;
    }

    private bool TryEndItem(long guard) => Interlocked.CompareExchange(ref _guard, guard & ~StateMask, guard) == guard;

    /// <summary>Looks at the outcome of stray work, so that its exception does not count as unobserved, and drops it.</summary>
    private static void Observe(TPending pending) => pending.OnCompleted(() =>
    {
        try
        {
            pending.GetResult();
        }
        catch (Exception)
        {
            // The item has had its outcome.
        }
    });

    /// <summary>Sets the item's deadline, and gives the token that is cancelled at it.</summary>
    private CancellationToken StartClock()
    {
        TimeProvider time = run.Settings.TimeProvider;
        TimeSpan timeout = run.Settings.ItemTimeout!.Value;
        if (_itemStop is null)
        {
            _itemStop = new CancellationTokenSource();
            run.Token.UnsafeRegister(static stop => ((CancellationTokenSource)stop!).Cancel(), _itemStop);
        }

        _deadline = time.GetTimestamp() + (long)(timeout.TotalSeconds * time.TimestampFrequency);

        // The timer stays on for as long as the worker is at work, and looks at the deadline of whatever item runs then.
        _timer ??= time.CreateTimer(
            static worker => ((PumpWorker<TItem, TResult, TPending, TCall, TSink>)worker!).LookAtDeadline(),
            this,
            timeout,
            Timeout.InfiniteTimeSpan);
        return _itemStop.Token;
    }

    private void LookAtDeadline()
    {
        TimeProvider time = run.Settings.TimeProvider;
        TimeSpan timeout = run.Settings.ItemTimeout!.Value;
        long guard = Volatile.Read(ref _guard);
        TimeSpan left = timeout;
        switch (guard & StateMask)
        {
            case Abandoned:
                return;
            case Moving:
                left = TimeSpan.FromMilliseconds(1);
                break;
            case InCall:
            case Waiting:
                left = time.GetElapsedTime(time.GetTimestamp(), Volatile.Read(ref _deadline));
                if (left <= TimeSpan.Zero)
                {
                    GiveUp(guard, timeout);
                    return;
                }

                break;
        }

        // Whole milliseconds, upwards: a timer that rounds to zero would spin.
        _timer?.Change(TimeSpan.FromMilliseconds(Math.Ceiling(left.TotalMilliseconds)), Timeout.InfiniteTimeSpan);
    }

    private void GiveUp(long guard, TimeSpan timeout)
    {
        if (!Detach(guard))
        {
            // The item ended just now.
            _timer?.Change(timeout, Timeout.InfiniteTimeSpan);
            return;
        }

        string text = $"The item did not end within its time limit of {timeout}.";
        var successor = (PumpWorker<TItem, TResult, TPending, TCall, TSink>)run.CreateSuccessor();
        successor._wait = Wait.Handover;
        successor._index = _index;
        successor._handed = new TaskCanceledException(text, new TimeoutException(text));
        run.Settings.Executor.Queue(successor);
        _timer?.Dispose();
        try
        {
            _itemStop!.Cancel();
        }
        catch (AggregateException)
        {
            // Thrown by callbacks that user code registered on the token; the item has had its outcome.
        }
    }

    private Exception TakeHandedError()
    {
        Debug.Assert(_handed is not null, "A successor is made with the error of the item it records.");
        Exception error = _handed;
        _handed = null;
        return error;
    }

    /// <summary>Takes the item from the worker, with what the worker had claimed beyond it.</summary>
    private bool Detach(long guard)
    {
        if (Interlocked.CompareExchange(ref _guard, (guard & ~StateMask) + Abandoned, guard) != guard)
        {
            return false;
        }

        StopsExecuting();
        if ((guard & StateMask) == InCall)
        {
            if (!_chunk.IsEmpty)
            {
                run.Source.GiveBack(_chunk.TakeRest(_chunk.Position));
            }

            if (_host is { } host)
            {
                run.Settings.Executor.ReplaceHost(host);
            }
        }

        return true;
    }
}
