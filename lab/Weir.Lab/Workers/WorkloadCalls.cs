using Weir.Lab.Processes;

namespace Weir.Lab.Workers;

/// <summary>
/// Makes the calls of a workload outside its operations, such as the set-up. Each call has its own thread, so that a call that never returns can be reported
/// and abandoned.
/// </summary>
/// <param name="name">The name of the workload, for messages.</param>
/// <param name="limit">How long a call may take.</param>
/// <param name="waiting">Is told what is waited for, when a call takes longer than one would expect.</param>
internal sealed class WorkloadCalls(string name, TimeSpan limit, Action<string>? waiting)
{
    // After a run is abandoned, the workload gets some time to notice it.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(2);

    /// <summary>When it is told that a call is waited for.</summary>
    public TimeSpan Patience { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>How long the call that comes last may take; null for as long as the others.</summary>
    public TimeSpan? EndLimit { get; init; }

    /// <summary>Whether a call was abandoned. The workload is not called any more then, because the call may still be running.</summary>
    public bool HasHung { get; private set; }

    /// <summary>Calls, and waits for the end without a thread of the pool, of which the workload may use up all.</summary>
    /// <param name="what">What is called.</param>
    /// <param name="call">Calls it.</param>
    /// <param name="cancellationToken">Ends the waiting soon. The call itself has to know it too.</param>
    /// <exception cref="TimeoutException">It has not ended in time.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled, and has not ended since.</exception>
    public Task RunAsync(string what, Func<ValueTask> call, CancellationToken cancellationToken) => WithinAsync(what, call, limit, cancellationToken);

    /// <summary>Calls what comes last.</summary>
    public async Task EndsAsync(string what, Func<ValueTask> call)
    {
        try
        {
            await WithinAsync(what, call, EndLimit ?? limit, CancellationToken.None).ConfigureAwait(false);
        }
        catch (TimeoutException) when (HasHung)
        {
            // It is abandoned, which is reported with the figures.
        }
    }

    /// <summary>The same as <see cref="RunAsync"/>, with this thread.</summary>
    /// <param name="what">What is called.</param>
    /// <param name="call">Calls it.</param>
    /// <param name="cancellationToken">Ends the waiting soon. The call itself has to know it too.</param>
    public void Run(string what, Func<ValueTask> call, CancellationToken cancellationToken) => Within(what, call, limit, cancellationToken);

    private Task<bool> WithinAsync(string what, Func<ValueTask> call, TimeSpan longest, CancellationToken cancellationToken) => OwnThread.RunAsync(() =>
    {
        Within(what, call, longest, cancellationToken);
        return true;
    });

    private void Within(string what, Func<ValueTask> call, TimeSpan longest, CancellationToken cancellationToken)
    {
        Task ended = OwnThread.RunAsync(() => call().AsTask(), ThreadPriority.Normal).Unwrap();
        TimeSpan patience = longest < Patience ? longest : Patience;
        if (!HasEnded(ended, patience, cancellationToken) && !cancellationToken.IsCancellationRequested && longest > patience)
        {
            waiting?.Invoke($"{what} to end");
            HasEnded(ended, longest - patience, cancellationToken);
        }

        if (!ended.IsCompleted && !(cancellationToken.IsCancellationRequested && HasEnded(ended, longest < Grace ? longest : Grace, default)))
        {
            HasHung = true;
            cancellationToken.ThrowIfCancellationRequested();
            throw new TimeoutException(Invariant($"{name}: {what} did not end within {longest.TotalSeconds:0.#} s."));
        }

        ended.GetAwaiter().GetResult();
    }

    private static bool HasEnded(Task call, TimeSpan limit, CancellationToken cancellationToken)
    {
        try
        {
            return call.Wait(limit, cancellationToken);
        }
        catch (AggregateException)
        {
            // What it threw is thrown where its end is taken.
            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }
}
