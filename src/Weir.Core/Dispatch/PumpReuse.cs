using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Dispatch;

/// <content>
/// Runs whose items may all be in flight at once are used again, together with one worker: in a fan-out of a few calls, they would be most of its memory.
/// </content>
/// <remarks>
/// That is safe because an ended run is kept only if nobody has it any more. Its maker gets nothing but the caller's task. No worker of it waits for a thread,
/// and what a worker or a parked call does after it has left or ended touches neither itself nor the run, with one exception: the thread of a parked call that
/// counted down to zero may come for the lock late, and then finds a run that has ended, or asks another one whether it has. That one has items, which none of
/// its workers has claimed before it has begun, so the answer is no until then. The caller's token and the timers of its workers have let it go before they
/// called it. The stall watch is not just looking at it, and no observer has it. It was neither stopped nor
/// did anything in it fail, so nobody is about to tell it so.
/// </remarks>
internal abstract partial class Pump
{
    /// <summary>Whether nobody gets the run but the engine, so that it may be used again. Set before the start.</summary>
    public bool IsReusable;

    // Whether the caller's token or a worker's timer may be calling it.
    private bool _isCalled;

    /// <summary>Whether this run, which has left the watch, may be used again.</summary>
    protected bool IsReusableNow =>
        IsReusable && _stop.IsClean && !_isCalled && !MayBeKnown && _queued == 0 && _counts.HasNoPast;

    /// <summary>What a run begins with. The rest is as <see cref="Forget"/> left it, or new.</summary>
    [MemberNotNull(nameof(_stopped), nameof(Settings))]
    protected void Begin(PumpSettings settings, bool attemptsAreTimed)
    {
        System.Diagnostics.Debug.Assert(settings.Limit >= 1, "Limits are validated by the public API.");
        Settings = settings;
        _limit = settings.Limit;
        IsTimed = attemptsAreTimed || settings.PerItemTimeout is not null;
        IsGuarded = IsTimed || settings.Guarded;
        IsAlone = settings is { Limit: 1, Adaptive: null, Pilot: null } and not ControlledSettings;
        _stopped = new CancellationTokenSource();
        Token = _stopped.Token;
        Context = ExecutionContext.Capture();
        _pauses = settings.WatchesPauses ? new PauseState() : null;
    }

    /// <summary>Ends the rest. From here on, a thread that comes late finds the run as it is now.</summary>
    protected void BeginAgain()
    {
        _workers.Idle!.BeginAgain();
        using (_lock.Hold())
        {
            _finished = false;
        }

        Volatile.Write(ref HasLeft, false);
    }

    /// <summary>Lets go of everything that belonged to the run, and of all workers but one.</summary>
    protected void Forget()
    {
        _workers.KeepOne().Forget();
        _stopped = null!;
        Token = default;
        Context = null;
        Settings = null!;
        _callerTokens = default;
        _tokens = default;
        SeesStarts = false;
        _throttled = false;
        _helpPace = new HelpPace();
        _demand = default;
        _counts = default;
        _parked = default;
    }
}
