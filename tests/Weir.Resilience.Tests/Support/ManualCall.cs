using System.Threading.Tasks.Sources;

namespace Weir.Resilience.Tests;

/// <summary>A call that ends when the test says so. Used again and again, so that it allocates nothing.</summary>
internal sealed class ManualCall : IValueTaskSource<int>
{
    private ManualResetValueTaskSourceCore<int> _core;

    public CancellationToken Token { get; private set; }

    public ValueTask<int> Start(CancellationToken token)
    {
        Token = token;
        _core.Reset();
        return new ValueTask<int>(this, _core.Version);
    }

    public void End(int result) => _core.SetResult(result);

    public void Fail(Exception error) => _core.SetException(error);

    int IValueTaskSource<int>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<int>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<int>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);
}
