using System.Diagnostics.CodeAnalysis;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir.Runtimes;

/// <summary>One call of a <see cref="DirectRuntime"/> as seen from outside: what stops it, and what it cleans up when it ends.</summary>
/// <remarks>
/// A call is stopped (by its deadline, its caller, or the end of its runtime) on a thread that others need too. Therefore the callbacks that user code
/// registered on the call's token run on the pool, and their exceptions are discarded.
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has no resources, and processors may hold its token for longer than the call.")]
internal abstract class DirectCall : RuntimeCall
{
    private readonly CancellationToken _caller;
    private readonly CancellationToken _otherCaller;
    private readonly CancellationTokenRegistration _callerLink;
    private readonly CancellationTokenRegistration _otherCallerLink;
    private readonly CancellationTokenSource _stop = new();
    private readonly DirectCallControl? _control;
    private int _givenUp;
    private int _state;
    private bool _isShown;

    /// <summary>Adds the call to the running calls and starts its deadline.</summary>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    protected DirectCall(
        RuntimeCalls calls,
        string operation,
        ProcessManyOptions options,
        TimeProvider time,
        RunControl? control,
        CancellationToken caller,
        CancellationToken otherCaller)
        : base(calls, operation, options)
    {
        _control = control is null ? null : new DirectCallControl(control, this);
        _caller = caller;
        _otherCaller = otherCaller;
        Time = time;
        Enter(options.BatchTimeout, time);
        if (RunObserver.Current is { WantsEnds: true })
        {
            Show();
        }

        _callerLink = Link(caller);
        _otherCallerLink = otherCaller == caller ? default : Link(otherCaller);
        _control?.Attach();
    }

    private enum Place
    {
        /// <summary>Between two items of a stream. Code that ends the call need not wait for its consumer.</summary>
        Resting = 0,

        /// <summary>Running an item.</summary>
        Busy,

        /// <summary>No longer among the running calls.</summary>
        Left,
    }

    /// <summary>Items that ended with a result, as counted so far.</summary>
    protected long Succeeded { get; set; }

    /// <summary>Items that ended without a result.</summary>
    protected long Unsuccessful { get; set; }

    /// <summary>The unsuccessful items that passed a time limit.</summary>
    protected int TimedOut { get; set; }

    /// <summary>The unsuccessful items that ended because the call was given up.</summary>
    protected int Cancelled { get; set; }

    /// <summary>Items that were abandoned while the call waited for them.</summary>
    protected long Abandoned { get; set; }

    /// <summary>The token of the items. It is cancelled when the call stops for any reason.</summary>
    protected CancellationToken Token => _stop.Token;

    public override TimeProvider Time { get; }

    /// <summary>How many items the call has; 0 until it has begun.</summary>
    public int Total { get; set; }

    /// <summary>The status of a running item after the call was given up; <see cref="ItemStatus.NotRun"/> before that.</summary>
    protected ItemStatus GivenUpAs => (ItemStatus)Volatile.Read(ref _givenUp);

    /// <summary>What each item has to ask before it begins, or null.</summary>
    protected DirectCallControl? Control => _control;

    protected bool IsCancelledByCaller => _caller.IsCancellationRequested || _otherCaller.IsCancellationRequested;

    public override RunSample Sample() => new()
    {
        Succeeded = Succeeded,
        Unsuccessful = Unsuccessful,
        Abandoned = Abandoned,
        Cancelled = Cancelled,
        TimedOut = TimedOut,
        Claimed = Succeeded + Unsuccessful + (Volatile.Read(ref _state) == (int)Place.Busy ? 1 : 0),
        Unread = Math.Max(0, Total - Succeeded - Unsuccessful - (Volatile.Read(ref _state) == (int)Place.Busy ? 1 : 0)),
        Limit = 1,
        InFlight = Volatile.Read(ref _state) == (int)Place.Busy && _control is not { IsPausing: true } ? 1 : 0,
    };

    public override void GiveUp(ItemStatus status, TimeSpan limit = default)
    {
        if (Interlocked.CompareExchange(ref _givenUp, (int)status, (int)ItemStatus.NotRun) != (int)ItemStatus.NotRun)
        {
            return;
        }

        // The token is cancelled first, so that the call starts nothing more when it continues.
        try
        {
            SafeCancel.Later(_stop);
        }
        finally
        {
            // Also without memory: nobody tries this again.
            GiveUpItem();
            EndIfResting();
        }
    }

    // If this has begun before, it has got to its end: see there.
    protected override void DeadlineFailed(Exception error, TimeSpan limit) => GiveUp(ItemStatus.TimedOut, limit);

    /// <summary>
    /// From now on the call is seen by observers. A call that nobody observes is shown when its first item suspends: one that never does is not in the list at
    /// all, because for a few tiny items that would be a good part of the whole cost.
    /// </summary>
    protected void Show()
    {
        if (!_isShown)
        {
            _isShown = true;
            StartedAt = Time.GetTimestamp();
            StallWatch.Add(this);
        }
    }

    protected void ThrowIfCancelledByCaller()
    {
        _caller.ThrowIfCancellationRequested();
        _otherCaller.ThrowIfCancellationRequested();
    }

    /// <summary>Starts an item, unless the call is no longer among the running calls.</summary>
    protected bool TryBegin() =>
        Interlocked.CompareExchange(ref _state, (int)Place.Busy, (int)Place.Resting) == (int)Place.Resting;

    protected void Rest()
    {
        Volatile.Write(ref _state, (int)Place.Resting);
        Interlocked.MemoryBarrier();
        if (GivenUpAs != ItemStatus.NotRun)
        {
            EndIfResting();
        }
    }

    /// <summary>The call has ended.</summary>
    protected void End()
    {
        Volatile.Write(ref _state, (int)Place.Left);
        CleanUp();
        LeaveWatch();
    }

    /// <summary>Gives up the running item, if it can be. One that completes synchronously counts nevertheless.</summary>
    protected abstract void GiveUpItem();

    /// <summary>The call leaves the running calls.</summary>
    protected virtual void CleanUp()
    {
        _callerLink.Unregister();
        _otherCallerLink.Unregister();
        _control?.Detach();
        Leave();
    }

    private void LeaveWatch()
    {
        if (_isShown)
        {
            LeaveWatch(IsCancelledByCaller ? ItemStatus.Cancelled : GivenUpAs == ItemStatus.NotRun ? ItemStatus.Succeeded : GivenUpAs);
        }
    }

    private void EndIfResting()
    {
        if (Interlocked.CompareExchange(ref _state, (int)Place.Left, (int)Place.Resting) == (int)Place.Resting)
        {
            CleanUp();

            // Listeners may hear of it, and this may be the watch's thread.
            ThreadPool.UnsafeQueueUserWorkItem(
                static call => Unattended.Run(call, static call => call.LeaveWatch(), static (call, _) => call.LeaveWatch()), this, preferLocal: false);
        }
    }

    private CancellationTokenRegistration Link(CancellationToken token) =>
        token.UnsafeRegister(
            static call => Unattended.Run((DirectCall)call!, static call => SafeCancel.Now(call._stop), static (call, _) => SafeCancel.Now(call._stop)),
            this);
}
