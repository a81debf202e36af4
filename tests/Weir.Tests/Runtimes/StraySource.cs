using System.Threading.Tasks.Sources;

namespace Weir.Tests.Runtimes;

/// <summary>A started call that a test ends, and that knows who waits for it and how often its outcome was looked at.</summary>
internal sealed class StraySource(Exception? error) : IValueTaskSource<int>
{
    private readonly TaskCompletionSource _waited = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private ManualResetValueTaskSourceCore<int> _core = new() { RunContinuationsAsynchronously = true };
    private int _looks;

    /// <summary>Completes when somebody waits for the call.</summary>
    public Task Waited => _waited.Task;

    /// <summary>How often the outcome was looked at.</summary>
    public int Looks => Volatile.Read(ref _looks);

    public ValueTask<int> Start() => new(this, _core.Version);

    public void End()
    {
        if (error is null)
        {
            _core.SetResult(-1);
        }
        else
        {
            _core.SetException(error);
        }
    }

    int IValueTaskSource<int>.GetResult(short token)
    {
        Interlocked.Increment(ref _looks);
        return _core.GetResult(token);
    }

    ValueTaskSourceStatus IValueTaskSource<int>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<int>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        _core.OnCompleted(continuation, state, token, flags);
        _waited.TrySetResult();
    }
}
