using System.Runtime.InteropServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir;

/// <summary>
/// Pauses, resumes, limits and softly stops runs while they go on, and tells how far they are. Give it to a run in its options, and use it from any thread.
/// </summary>
/// <remarks>
/// <para>
/// All members are thread-safe and return at once. Each of them may be used before, during and after a run, and inside its items, any number of times.
/// </para>
/// <para>
/// A control may be given to several runs, at a time or one after the other: it then pauses and stops them all, and <see cref="MaxDegreeOfParallelism"/> is the
/// limit of each of them. Once it is stopped, it stays so, and a run that starts with it ends at once.
/// </para>
/// </remarks>
public sealed class RunControl
{
    private readonly Lock _lock = new();
    private readonly List<IRun> _runs = [];
    private Order _order;
    private RunSample _past;

    /// <summary>Whether no item begins until <see cref="Resume"/>. False once stopped.</summary>
    public bool IsPaused => Current.IsPaused;

    /// <summary>Whether <see cref="Stop"/> was called.</summary>
    public bool IsStopped => Current.IsStopped;

    /// <summary>How many items of each run may be in flight at once.</summary>
    /// <value>
    /// At least 1; <see langword="null"/>, the default, for the run's own limit. With adaptive concurrency, and in an <c>AutoRuntime</c>, it is a ceiling on
    /// the limit that the run finds itself; otherwise it replaces the run's limit, and may also be higher.
    /// </value>
    /// <remarks>
    /// When it is raised, more items begin at once. When it is lowered, running items continue, and no item begins until enough of them have ended. A
    /// <c>DirectRuntime</c> always has one item in flight, and a <c>ParallelRuntime</c> no more threads than its own.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is less than 1.</exception>
    public int? MaxDegreeOfParallelism
    {
        get => Current.Limit;
        set
        {
            if (value < 1)
            {
                throw new ArgumentOutOfRangeException(
                    nameof(MaxDegreeOfParallelism), value, $"{nameof(MaxDegreeOfParallelism)} must be at least 1, or null for the run's own limit.");
            }

            Give(static (order, limit) => order with { Limit = limit }, value);
        }
    }

    private Order Current
    {
        get
        {
            lock (_lock)
            {
                return _order;
            }
        }
    }

    /// <summary>From now on, no item begins and nothing is read, until <see cref="Resume"/>.</summary>
    /// <remarks>
    /// Items that have begun go on to their end, with their retries and their waits for a circuit, a limit or a rate, and under their own time limits. The runs
    /// hold no thread meanwhile. What a source was just producing is read, and waits. A cancellation or a failure ends a paused run as any other. After
    /// <see cref="Stop"/>, this does nothing.
    /// </remarks>
    public void Pause() => Give(static (order, _) => order with { IsPaused = !order.IsStopped }, null);

    /// <summary>Lets items begin again.</summary>
    public void Resume() => Give(static (order, _) => order with { IsPaused = false }, null);

    /// <summary>
    /// Stops softly: nothing more is read, no item begins, what has begun ends, and the caller gets what was done, as if the source had ended.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Items that have begun go on to their end, with their retries. Lists and streams end with the results so far; outcomes have
    /// <see cref="ItemStatus.NotRun"/> for items that did not begin, as far as their number is known. It also ends a paused run.
    /// </para>
    /// <para>
    /// A source that waits for its next item has its enumerator's token cancelled, and what it throws then is dropped. A source that ignores its
    /// token, or whose <c>MoveNext</c> blocks, keeps the run until that step ends. What was read of a batch that was not full yet becomes a last, smaller
    /// batch, and is processed.
    /// </para>
    /// <para>
    /// It cannot be taken back. A run that is given the control later ends at once, as if its source were empty: it reads and calls nothing, and its list is
    /// empty. <see cref="RunControlSnapshot.IsStopped"/> tells whether that is why.
    /// </para>
    /// </remarks>
    public void Stop() => Give(static (order, _) => order with { IsStopped = true, IsPaused = false }, null);

    /// <summary>Takes the state at one moment, over all runs that had or have this control.</summary>
    /// <returns>A copy, which does not change afterwards.</returns>
    public RunControlSnapshot Snapshot()
    {
        lock (_lock)
        {
            RunSample sum = _past;
            foreach (IRun run in _runs)
            {
                Add(ref sum, run.Count());
            }

            long ended = sum.Succeeded + sum.Unsuccessful;
            return new RunControlSnapshot
            {
                IsPaused = _order.IsPaused,
                IsStopped = _order.IsStopped,
                MaxDegreeOfParallelism = _order.Limit,
                RunningRuns = _runs.Count,
                Started = sum.Begun,
                Succeeded = sum.Succeeded,
                Failed = sum.Failed,
                Cancelled = sum.Cancelled,
                InFlight = Math.Max(0, sum.Begun - ended - sum.Delayed),
                Waiting = sum.Delayed,
            };
        }
    }

    internal void Attach(IRun run)
    {
        lock (_lock)
        {
            _runs.Add(run);
            run.Obey(_order);
        }
    }

    /// <summary>The run has ended. May be called again.</summary>
    internal void Detach(IRun run)
    {
        lock (_lock)
        {
            if (_runs.Remove(run))
            {
                RunSample sample = run.Count();

                // A run that was cancelled may have left items behind between their beginning and their call.
                sample.Begun = sample.Succeeded + sample.Unsuccessful;
                sample.Delayed = 0;
                Add(ref _past, sample);
            }
        }
    }

    private static void Add(ref RunSample sum, RunSample sample)
    {
        sum.Begun += sample.Begun;
        sum.Succeeded += sample.Succeeded;
        sum.Unsuccessful += sample.Unsuccessful;
        sum.Cancelled += sample.Cancelled;
        sum.Delayed += sample.Delayed;
    }

    private void Give(Func<Order, int?, Order> change, int? limit)
    {
        // Under the lock, so that all runs get all orders in the same sequence. A run only changes its state and queues work.
        lock (_lock)
        {
            _order = change(_order, limit);
            foreach (IRun run in _runs)
            {
                run.Obey(_order);
            }
        }
    }

    /// <summary>What a control wants of its runs.</summary>
    /// <param name="IsPaused">Whether no item begins for now.</param>
    /// <param name="IsStopped">Whether no item begins any more.</param>
    /// <param name="Limit">How many items may be in flight, or null for the run's own number.</param>
    [StructLayout(LayoutKind.Auto)]
    internal readonly record struct Order(bool IsPaused, bool IsStopped, int? Limit);

    /// <summary>A run as its control sees it.</summary>
    internal interface IRun
    {
        /// <summary>
        /// Does what the control says from now on. Called under its lock, so in order, and repeatedly with the same order; calls no user code.
        /// </summary>
        void Obey(Order order);

        /// <summary>The counts of the run so far.</summary>
        RunSample Count();
    }
}

/// <summary>How far the runs of a <see cref="RunControl"/> are. The counts include runs that have ended.</summary>
/// <remarks><see cref="Started"/> is the sum of all the counts below it.</remarks>
public readonly record struct RunControlSnapshot
{
    /// <summary>Whether no item begins for now.</summary>
    public bool IsPaused { get; init; }

    /// <summary>Whether no item begins any more.</summary>
    public bool IsStopped { get; init; }

    /// <summary>The limit of each run that the control sets; <see langword="null"/> if it sets none.</summary>
    public int? MaxDegreeOfParallelism { get; init; }

    /// <summary>How many runs have begun and not ended.</summary>
    public int RunningRuns { get; init; }

    /// <summary>Items that have started, whether or not they have ended.</summary>
    public long Started { get; init; }

    /// <summary>Items that ended with a result.</summary>
    public long Succeeded { get; init; }

    /// <summary>Items that failed or timed out.</summary>
    public long Failed { get; init; }

    /// <summary>Items that were cancelled because their run was cancelled, failed or was left.</summary>
    public long Cancelled { get; init; }

    /// <summary>Items that are inside their call.</summary>
    public long InFlight { get; init; }

    /// <summary>Items that wait for another attempt, or for a permit of a shared limit or a circuit, and hold no worker meanwhile.</summary>
    public long Waiting { get; init; }
}
