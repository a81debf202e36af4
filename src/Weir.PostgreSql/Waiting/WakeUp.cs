namespace Weir.PostgreSql;

/// <summary>Wakes those who wait for a change. A waiter that gets <see cref="Next"/> before it looks misses nothing.</summary>
internal sealed class WakeUp
{
    private TaskCompletionSource _next = New();

    /// <summary>Completes at the next change.</summary>
    public Task Next => Volatile.Read(ref _next).Task;

    public void Set() => Interlocked.Exchange(ref _next, New()).TrySetResult();

    private static TaskCompletionSource New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
