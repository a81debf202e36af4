namespace Weir.Lab.Suites.Checking;

/// <summary>Some work that is waited for only so long, because it may stand still for ever: then it is left to itself.</summary>
/// <remarks>
/// Everything that the waiting costs is made before the work begins and taken back after it has ended, so that a measurement inside sees nothing
/// of it but one timer that is not due.
/// </remarks>
/// <typeparam name="T">What the work gives.</typeparam>
internal sealed class Attempt<T>
    where T : struct
{
    private readonly TaskCompletionSource<T?> _outcome = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ITimer _watchdog;

    public Attempt(TimeSpan patience, TimeProvider clock) => _watchdog = clock.CreateTimer(
        static attempt => ((Attempt<T>)attempt!)._outcome.TrySetResult(null), this, patience, Timeout.InfiniteTimeSpan);

    /// <summary>What the work gave; <see langword="null"/> when it was given up.</summary>
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
