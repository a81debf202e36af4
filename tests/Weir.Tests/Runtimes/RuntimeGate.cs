namespace Weir.Tests.Runtimes;

/// <summary>A gate that items wait at until a test opens it, and that counts who has arrived.</summary>
internal sealed class RuntimeGate : IDisposable
{
    private readonly TaskCompletionSource _open = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ManualResetEventSlim _openEvent = new();
    private readonly Lock _lock = new();
    private readonly List<(int Count, TaskCompletionSource Waiter)> _waiters = [];
    private int _arrived;

    public int Arrived => Volatile.Read(ref _arrived);

    /// <summary>Arrives and waits without a thread, whatever happens to the token.</summary>
    public async ValueTask<T> PassAsync<T>(T value)
    {
        Arrive();
        await _open.Task;
        return value;
    }

    /// <summary>Arrives and waits without a thread, until the token is cancelled.</summary>
    public async ValueTask<T> PassAsync<T>(T value, CancellationToken cancellationToken)
    {
        Arrive();
        await _open.Task.WaitAsync(cancellationToken);
        return value;
    }

    /// <summary>Arrives and blocks the thread, whatever happens to the token.</summary>
    public T Block<T>(T value)
    {
        Arrive();
        _openEvent.Wait();
        return value;
    }

    /// <summary>Arrives and blocks the thread, until the token is cancelled.</summary>
    public T Block<T>(T value, CancellationToken cancellationToken)
    {
        Arrive();
        _openEvent.Wait(cancellationToken);
        return value;
    }

    public void Open()
    {
        _openEvent.Set();
        _open.TrySetResult();
    }

    /// <summary>Completes when so many have arrived.</summary>
    public Task ArrivedAsync(int count)
    {
        lock (_lock)
        {
            if (_arrived >= count)
            {
                return Task.CompletedTask;
            }

            TaskCompletionSource waiter = new(TaskCreationOptions.RunContinuationsAsynchronously);
            _waiters.Add((count, waiter));
            return waiter.Task;
        }
    }

    /// <summary>Opens the gate, so that nobody is left behind it. The event stays usable for those who are late.</summary>
    public void Dispose() => Open();

    private void Arrive()
    {
        lock (_lock)
        {
            _arrived++;
            foreach ((int count, TaskCompletionSource waiter) in _waiters)
            {
                if (_arrived >= count)
                {
                    waiter.TrySetResult();
                }
            }
        }
    }
}
