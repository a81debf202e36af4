using System.Runtime.ExceptionServices;
using Weir.Lab.Processes;

namespace Weir.Lab.Workers;

/// <summary>One of the things that take turns in a run: its workers, its warm-up, and the use of its windows.</summary>
internal abstract class RoundArm(WorkerRunSpec spec, IWorkload workload, WorkloadCalls? guard = null)
{
    /// <summary>How long the compiler is waited for.</summary>
    protected static readonly TimeSpan CompilerPatience = TimeSpan.FromSeconds(5);

    private static readonly int[] CompilerCalls = CompilerRest.IsDelayed ? [4, 64, 4, 64] : [34, 34];
    private static readonly TimeSpan LongShortWindow = TimeSpan.FromMilliseconds(200);

    public WorkerRunSpec Spec => spec;

    public IWorkload Workload => workload;

    /// <summary>What calls a workload that may hang; <see langword="null"/> for one that does not.</summary>
    protected WorkloadCalls? Guard => guard;

    /// <summary>Sets the workload up and warms it up.</summary>
    /// <returns>Whether there is anything to measure.</returns>
    public abstract Task<bool> PrepareAsync(CancellationToken cancellationToken);

    /// <summary>Measures a window, unless it is not its turn.</summary>
    /// <param name="round">The number of the round, from 1.</param>
    /// <param name="cancellationToken">Ends the window early.</param>
    public abstract Task<RoundEnd> RoundAsync(int round, CancellationToken cancellationToken);

    /// <summary>Does what is to be done after the last round, while the workload is still set up. Not when there was nothing to measure.</summary>
    public virtual Task AfterRoundsAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>Releases the resources of the workload. A failure here does not lose the measurements.</summary>
    public async Task CleanUpAsync()
    {
        if (guard is null)
        {
            await workload.CleanupAsync().ConfigureAwait(false);
        }
        else if (!guard.HasHung)
        {
            await guard.EndsAsync(nameof(IWorkload.CleanupAsync), workload.CleanupAsync).ConfigureAwait(false);
        }
    }

    /// <summary>Runs one window.</summary>
    /// <param name="plan">How it is done.</param>
    /// <param name="cancellationToken">Ends it early.</param>
    /// <param name="other">What its workers do, if not what the arm is.</param>
    /// <param name="waiting">Is told when workers are waited for long.</param>
    protected async Task<WindowOutcome> WindowAsync(
        WindowPlan plan, CancellationToken cancellationToken, IWorkload? other = null, Action<string>? waiting = null)
    {
        // No window pays for the garbage of what was before.
        if (plan.Round > 0 || plan.Whole is null)
        {
            Heap.Collect();
        }

        IWorkload measured = other ?? workload;
        WindowOutcome outcome = await OwnThread.RunAsync(() =>
        {
            CallGuarded(nameof(IWorkload.BeginRoundAsync), () => measured.BeginRoundAsync(cancellationToken), cancellationToken);
            return WindowRunner.Run(spec, measured, plan, cancellationToken, waiting);
        }).ConfigureAwait(false);
        if (spec.FailsFast && outcome.FirstError is { } error)
        {
            ExceptionDispatchInfo.Throw(error);
        }

        return outcome;
    }

    /// <summary>
    /// What the lab itself does once a round would be compiled for good in the thirtieth round or so. So it is called that often before the first one. The
    /// runtime counts calls from 100 ms after code was new, in two stages: once to measure it and once to keep it. Only where operations are short: one of a
    /// second makes a window of a second.
    /// </summary>
    /// <param name="window">Runs a short window, and says whether another one may follow.</param>
    /// <param name="cancellationToken">Ends it.</param>
    protected static async Task CallOftenAsync(Func<Task<bool>> window, CancellationToken cancellationToken)
    {
        long start = Stopwatch.GetTimestamp();
        foreach (int calls in CompilerCalls)
        {
            for (int call = 0; call < calls; call++)
            {
                long before = Stopwatch.GetTimestamp();
                if (cancellationToken.IsCancellationRequested || !await window().ConfigureAwait(false)
                    || Stopwatch.GetElapsedTime(before) > LongShortWindow || Stopwatch.GetElapsedTime(start) > CompilerPatience)
                {
                    return;
                }
            }

            await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
        }
    }

    // The lab's own workloads do not hang.
    private void CallGuarded(string what, Func<ValueTask> call, CancellationToken cancellationToken)
    {
        if (guard is null)
        {
            call().AsTask().GetAwaiter().GetResult();
        }
        else
        {
            guard.Run(what, call, cancellationToken);
        }
    }
}
