using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>
/// One worker of a run, as its run and its watchers see it: it is in the run's lists, on a thread or not, and can be given up from outside. It is its own work
/// item and keeps one continuation for its lifetime, so it costs nothing per item and can rest in a list while it has nothing to do.
/// </summary>
internal abstract partial class PumpWorker : PumpWork, IUnattended
{
    /// <summary>The next in the list of all workers of the run.</summary>
    public PumpWorker? NextCreated;

    /// <summary>The next in the list of workers without work.</summary>
    public PumpWorker? NextIdle;

    /// <summary>Whether the worker waits for a thread. Then it holds no item.</summary>
    public bool IsQueued;

    // Hints for the stall watch, which reads them at any time: whether a thread is inside this worker, and that thread, if it was started for the run. Who
    // takes the item of a call that still waits says that no thread is; one that just goes on says so too, in the end.
    private bool _isExecuting;
    private Thread? _inside;

    /// <summary>Whether the thread inside was started for the run, rather than having come to complete an item.</summary>
    public bool IsOnOwnThread;

    /// <summary>Whether the worker is inside the source, so that it has no item. A hint, for statistics.</summary>
    public bool Reads;

    /// <summary>The index of the item that it runs or waits for.</summary>
    protected long Index;

    /// <summary>What the worker waits for.</summary>
    protected Wait Waiting;

    /// <summary>What it needs to go on: the task of a hook or of a decision, or the failure of a parked call.</summary>
    protected object? Awaited;

    protected PumpWorker(ItemGuard? guard) => Guard = guard;

    protected enum Wait : byte
    {
        None = 0,
        Call,
        Claim,
        Task,

        /// <summary>For what becomes of an item whose attempt has failed.</summary>
        Decision,

        /// <summary>For the end of what an item holds that has ended because the run was stopped.</summary>
        Discard,

        /// <summary>The worker has to record the failure of a parked call.</summary>
        Failure,

        /// <summary>The worker replaces one that was given up, and has to record the outcome of its item.</summary>
        Handover,
    }

    protected enum StepResult
    {
        /// <summary>The worker has more to do immediately.</summary>
        Ready = 0,

        /// <summary>The worker waits; its continuation now owns it.</summary>
        Waits,

        /// <summary>The worker left the run or was given up.</summary>
        Left,
    }

    /// <summary>Whether a thread is inside this worker. A hint: it may just come or go.</summary>
    public bool IsExecuting => Volatile.Read(ref _isExecuting);

    /// <summary>
    /// Whether the thread inside waits: for a time, a lock, an event or a task. There are waits that the runtime does not know of, such as some of sockets.
    /// </summary>
    public bool IsWaiting => Volatile.Read(ref _inside) is { } thread && (thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) != 0;

    /// <summary>How often the worker claimed. Written by the worker alone; a hint for the stall watch, which reads it at any time.</summary>
    public abstract long Claims { get; }

    public abstract void AddTo(ref RunSample sample);

    /// <summary>Tells the run how many calls it has parked. For the worker, or for the thread that gave it up.</summary>
    public abstract void TellParked();

    /// <summary>Gives up the items of its parked calls, and counts them.</summary>
    public abstract void AbandonParked(ItemStatus status, Exception? error, ref int abandoned);

    /// <summary>The run has ended: releases the timer.</summary>
    public void Retire() => Guard?.Clock.EndTimer();

    /// <summary>Works until there is nothing to do or something to wait for.</summary>
    /// <returns>Whether the worker waits, so that its thread is free to run another one.</returns>
    protected abstract bool Step();

    protected sealed override bool MayEnter() => !IsQueued || Run.TryEnter(this);

    protected sealed override void Drive(bool isOnOwnThread)
    {
        Pump run = Run;
        Thread? thread = isOnOwnThread ? Thread.CurrentThread : null;
        for (PumpWorker? current = this; current is not null;)
        {
            current._isExecuting = true;
            current.IsOnOwnThread = isOnOwnThread;
            current._inside = thread;
            bool waits;
            try
            {
                waits = current.Step();
            }
            catch (Exception e)
            {
                // User code gets here only through a list that was changed. If the engine itself fails, the run fails with it and does not hang.
                current.Break(run, e);
                return;
            }

            // A worker that waits may already be running on another thread, so only the run is touched here.
            current = waits ? run.TryAdd() : null;
        }
    }

    /// <summary>Its timer failed.</summary>
    void IUnattended.WorkFailed(Exception error) => Run.WorkFailed(error);

    // Nothing of a worker's own work throws, so no thread has begun with it. One that is still queued has no item, and its run does not wait for it.
    protected sealed override void Lost(Exception error)
    {
        if (IsQueued)
        {
            Run.EngineFailed(error);
        }
        else
        {
            Break(Run, error);
        }
    }

    /// <summary>The worker cannot continue: it leaves, and the run fails.</summary>
    private void Break(Pump run, Exception error)
    {
        run.EngineFailed(error);
        try
        {
            if (Guard?.TryEndBroken() == false)
            {
                return;
            }

            StopsExecuting();
            TellParked();
            GiveBackClaimed();
        }
        catch (Exception)
        {
            // No memory to give items back with. The run has failed, so nobody claims them.
        }

        run.TryLeave(this, LeaveReason.Exhausted);
    }

    /// <summary>Called by the worker itself before it waits or leaves.</summary>
    protected void StopsExecuting() => _isExecuting = false;

    /// <summary>Called by a worker that was about to wait or leave but has work after all.</summary>
    protected void StartsExecuting() => _isExecuting = true;
}
