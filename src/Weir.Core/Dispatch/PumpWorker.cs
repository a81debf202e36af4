using System.Diagnostics;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// One worker of a run: a hand-written state machine, which is its own work item and keeps one continuation for its lifetime. It
/// therefore costs nothing per item, can rest in a list while it has nothing to do, and can be given up from outside.
/// </summary>
internal abstract class PumpWorker : PumpWork, IUnattended
{
    /// <summary>The next in the list of all workers of the run.</summary>
    public PumpWorker? NextCreated;

    /// <summary>The next in the list of workers without work.</summary>
    public PumpWorker? NextIdle;

    /// <summary>Whether the worker waits for a thread. Then it holds no item.</summary>
    public bool IsQueued;

    /// <summary>Whether a thread is inside this worker. A hint for the stall watch, which reads it without a lock.</summary>
    public bool IsExecuting;

    /// <summary>The thread inside, if it was started for the run. A hint for the stall watch, as <see cref="IsExecuting"/> is.</summary>
    public Thread? Inside;

    /// <summary>Whether the worker is inside the source, so that it has no item. A hint, for statistics.</summary>
    public bool Reads;

    /// <summary>
    /// Whether the thread inside waits: for a time, a lock, an event or a task. There are waits that the runtime does not know of, such as some of sockets.
    /// </summary>
    public bool IsWaiting => Inside is { } thread && (thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) != 0;

    /// <summary>How often the worker claimed. Written by the worker alone.</summary>
    public abstract long Claims { get; }

    public abstract void AddTo(ref RunSample sample);

    /// <summary>Gives up the item that the worker is running, if any, with the given outcome.</summary>
    /// <param name="status">The outcome.</param>
    /// <param name="error">Its error, if any.</param>
    /// <param name="isOrphan">Whether a thread may still be running the item.</param>
    public abstract bool TryAbandon(ItemStatus status, Exception? error, out bool isOrphan);

    /// <summary>Tells the run how many calls it has parked. For the worker, or for the thread that gave it up.</summary>
    public abstract void TellParked();

    /// <summary>Gives up the items of its parked calls, and counts them.</summary>
    public abstract void AbandonParked(ItemStatus status, Exception? error, ref int abandoned);

    /// <summary>
    /// Called by the stall watch at each look. If the item has not ended since the last look, gives the items that the worker claimed beyond it to other
    /// workers.
    /// </summary>
    /// <param name="isStuck">Whether the worker is inside the same call as at the last look.</param>
    /// <returns>Whether there are now more items to claim.</returns>
    public abstract bool ShareIfStuck(out bool isStuck);

    /// <summary>The run has ended: releases the timer.</summary>
    /// <returns>False if the timer may be calling this worker.</returns>
    public abstract bool Retire();

    /// <summary>The run has ended and is kept for another one, together with this worker: lets go of everything.</summary>
    public abstract void Forget();

    /// <summary>The run has become another one.</summary>
    public abstract void BeginAgain();

    /// <summary>The worker cannot continue: the items that it claimed but did not start are given back.</summary>
    protected abstract void DropClaimed();

    /// <summary>The worker cannot continue: from here on, nobody can give up its item.</summary>
    /// <returns>False if somebody has, so that another worker is in its place.</returns>
    protected abstract bool TryEndBroken();

    /// <summary>Works until there is nothing to do or something to wait for.</summary>
    /// <returns>Whether the worker waits, so that its thread is free to run another one.</returns>
    protected abstract bool Step();

    protected sealed override bool MayEnter() => !IsQueued || Run.TryEnter(this);

    protected sealed override void Drive()
    {
        Pump run = Run;
        bool ownThread = IsOnOwnThread;
        Thread? thread = ownThread ? Thread.CurrentThread : null;
        for (PumpWorker? current = this; current is not null;)
        {
            current.IsExecuting = true;
            current.IsOnOwnThread = ownThread;
            current.Inside = thread;
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
            if (!TryEndBroken())
            {
                return;
            }

            DropClaimed();
        }
        catch (Exception)
        {
            // No memory to give items back with. The run has failed, so nobody claims them.
        }

        run.TryLeave(this, LeaveReason.Exhausted);
    }

    /// <summary>Called by the worker itself before it waits or leaves.</summary>
    protected void StopsExecuting() => IsExecuting = false;

    /// <summary>Called by a worker that was about to wait or leave but has work after all.</summary>
    protected void StartsExecuting() => IsExecuting = true;

    /// <summary>
    /// How many items a worker takes before it reads the clock again: one at first and after each suspension, twice as many each time
    /// they were quick, so that neither the clock nor the claim costs anything when items are tiny.
    /// </summary>
    protected struct Pace
    {
        private const int Most = 256;
        private static readonly long Quick = Stopwatch.Frequency / 200_000;
        private static readonly long Slow = Stopwatch.Frequency / 50_000;

        private long _driveStarted;
        private long _sliceStarted;
        private float _reading;
        private float _work;
        private int _size;

        /// <summary>The number of items until the next reading of the clock.</summary>
        public int Left;

        /// <summary>Whether the first item since the last look has yet to be read, which <see cref="Sample"/> times.</summary>
        public bool IsSampling;

        /// <summary>Starts again after a suspension: one item, without reading the clock.</summary>
        public void Reset()
        {
            _driveStarted = 0;
            _sliceStarted = 0;
            _size = 1;
            Left = 1;
            IsSampling = false;
        }

        /// <summary>
        /// Records how long it took to read the item that comes now, and asks for help with what comes after it, which no worker is reading any more.
        /// </summary>
        public void Sample(Pump run)
        {
            IsSampling = false;
            long now = Stopwatch.GetTimestamp();
            _reading = now - _sliceStarted;

            // The duration of the very first item's work is not known yet. If it took long to arrive, the next item may as well be read meanwhile.
            float work = _work == 0 && run.HasReadOne ? _reading : _work;
            if (work > 0)
            {
                run.ConsiderHelp(_driveStarted, now, work);
            }
        }

        /// <summary>Reads the clock and decides how many items come next.</summary>
        /// <param name="run">The run.</param>
        /// <param name="quantum">How long a worker may have a thread, in Stopwatch ticks.</param>
        /// <param name="takesTurns">Whether asking for help makes sense only after the next item has been read.</param>
        /// <returns>Whether the worker may continue; if not, it has had the thread for long enough.</returns>
        public bool Measure(Pump run, long quantum, bool takesTurns)
        {
            if (quantum == long.MaxValue && run.IsAlone)
            {
                // Nobody waits for the thread or for an item, so the clock has nothing to say.
                _size = Math.Clamp(_size * 2, 1, Most);
                Left = _size;
                return true;
            }

            long now = Stopwatch.GetTimestamp();
            if (_driveStarted == 0)
            {
                _driveStarted = now;
                _size = Math.Max(1, _size);
                _work = 0;
            }
            else if (_sliceStarted != 0)
            {
                long took = now - _sliceStarted;
                if (takesTurns)
                {
                    _work = Math.Max(0, ((float)took / _size) - _reading);
                }
                else
                {
                    run.ConsiderHelp(_driveStarted, now, (double)took / _size);
                }

                if (run.Orders is not null)
                {
                    // One item at a time: what has been claimed begins.
                }
                else if (took < Quick)
                {
                    _size = Math.Min(Most, _size * 2);
                }
                else if (took > Slow)
                {
                    _size = Math.Max(1, _size / 2);
                }
            }

            _sliceStarted = now;
            _reading = 0;
            IsSampling = takesTurns;
            Left = _size;
            if (now - _driveStarted > quantum)
            {
                Reset();
                Left = 0;
                return false;
            }

            return true;
        }
    }
}
