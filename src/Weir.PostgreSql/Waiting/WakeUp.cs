namespace Weir.PostgreSql;

/// <summary>Wakes whoever waits for something to change. Who asks for <see cref="Next"/> before looking misses nothing.</summary>
internal sealed class WakeUp
{
    private TaskCompletionSource _next = New();

    /// <summary>Completes at the next change.</summary>
    public Task Next => Volatile.Read(ref _next).Task;

    public void Set() => Interlocked.Exchange(ref _next, New()).TrySetResult();

    private static TaskCompletionSource New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
