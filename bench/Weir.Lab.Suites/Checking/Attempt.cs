namespace Weir.Lab.Suites.Checking;

/// <summary>Work with a time limit, because it may hang. After the limit, it is abandoned.</summary>
/// <remarks>
/// Everything for the wait is allocated before the work begins and released after it has ended, so that a measurement inside sees only a timer that is not due.
/// </remarks>
/// <typeparam name="T">What the work gives.</typeparam>
internal sealed class Attempt<T>
    where T : struct
{
    private readonly TaskCompletionSource<T?> _outcome = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ITimer _watchdog;

    public Attempt(TimeSpan patience, TimeProvider clock) => _watchdog = clock.CreateTimer(
        static attempt => ((Attempt<T>)attempt!)._outcome.TrySetResult(null), this, patience, Timeout.InfiniteTimeSpan);

    /// <summary>The result of the work; <see langword="null"/> if it was abandoned.</summary>
    public Task<T?> Outcome => _outcome.Task;

    /// <summary>The work is done.</summary>
    public void Succeed(T value)
    {
        _watchdog.Dispose();
        _outcome.TrySetResult(value);
    }

    /// <summary>The work threw.</summary>
    public void Fail(Exception exception)
    {
        _watchdog.Dispose();
        _outcome.TrySetException(exception);
    }
}
