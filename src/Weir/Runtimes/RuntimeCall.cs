using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Threads;
using Weir.Observability;

namespace Weir.Runtimes;

/// <summary>A running call of a runtime: a run of the engine, which can be given up, at its deadline or at the end of the runtime.</summary>
/// <param name="calls">The running calls of the runtime.</param>
/// <param name="operation">The method that was called.</param>
/// <param name="options">The options of the call.</param>
internal class RuntimeCall(RuntimeCalls calls, string operation, ProcessManyOptions options) : IMeasuredRun
{
    // Stands in the timer's place once the call has ended.
    private static readonly ITimer Ended = new WatchTimer(static _ => { }, null);

    private ITimer? _deadline;

    public Pump Run { get; private set; } = null!;

    public string Operation => operation;

    /// <summary>The index in the list of running calls, or -1. Guarded by the lock of <see cref="RuntimeCalls"/>.</summary>
    public int Place = -1;

    public RunLabel Label => RunLabel.Of(operation, calls.RuntimeName, options.OperationName, options.Tags);

    public RunSample Sample() => Run.Sample();

    /// <summary>Ends the call without waiting for running items, each of which gets the status. No other item starts.</summary>
    /// <param name="status">The status.</param>
    /// <param name="limit">The time limit that has passed, if that is why.</param>
    public void GiveUp(ItemStatus status, TimeSpan limit = default) =>
        Run.Abort(status, status == ItemStatus.TimedOut ? TimeLimit.OfRun(limit) : null);

    /// <summary>The settings of the run, where something moves its limit and its threads.</summary>
    public virtual PumpSettings Steer(PumpSettings settings) => settings;

    /// <summary>Adds the call to the running calls and starts its deadline, which may pass before this returns.</summary>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public virtual void Begin(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        Run = run;
        calls.Add(this);
        if (batchTimeout is { } timeout)
        {
            try
            {
                StartDeadline(timeout, time);
            }
            catch
            {
                // The clock is the user's. Nothing of the call has begun, so nothing else would take it out of the list.
                calls.Remove(this);
                throw;
            }
        }
    }

    /// <summary>The run has ended, or could not start: ends the deadline and leaves the running calls. May be called again.</summary>
    public void End()
    {
        ITimer? deadline = Interlocked.Exchange(ref _deadline, Ended);
        if (deadline != Ended)
        {
            deadline?.Dispose();
            Leave();
        }
    }

    /// <summary>Leaves the running calls. Called once.</summary>
    protected virtual void Leave() => calls.Remove(this);

    private void StartDeadline(TimeSpan timeout, TimeProvider time)
    {
        ITimer timer = WatchTime.CreateTimer(time, static deadline => ((Deadline)deadline!).Pass(), new Deadline(this, timeout));
        timer.Change(timeout, Timeout.InfiniteTimeSpan);
        if (Interlocked.CompareExchange(ref _deadline, timer, null) is not null)
        {
            timer.Dispose();
        }
    }

    /// <summary>What a call with a limit has besides.</summary>
    private sealed class Deadline(RuntimeCall call, TimeSpan limit) : IUnattended
    {
        public void Pass() => call.GiveUp(ItemStatus.TimedOut, limit);

        public void WorkFailed(Exception error) => call.Run.WorkFailed(error);
    }
}
