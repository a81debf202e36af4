namespace Weir.TestKit;

/// <summary>A door that a test opens once. Whoever waits for it, with or without its thread, fails after a time instead of hanging.</summary>
public sealed class Gate : IDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);
    private readonly TaskCompletionSource _opened = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ManualResetEventSlim _event = new();

    public bool IsOpen => _opened.Task.IsCompleted;

    public void Open()
    {
        _opened.TrySetResult();
        _event.Set();
    }

    /// <summary>Waits without a thread.</summary>
    public Task WaitAsync(CancellationToken cancellationToken = default) =>
        _opened.Task.WaitAsync(Limit, TimeProvider.System, cancellationToken);

    /// <summary>Waits with the current thread.</summary>
    public void Wait(CancellationToken cancellationToken = default)
    {
        if (!_event.Wait(Limit, cancellationToken))
        {
            throw new TimeoutException("The gate was not opened.");
        }
    }

    /// <summary>Lets everybody through. Those who still wait then end too.</summary>
    public void Dispose() => Open();
}
