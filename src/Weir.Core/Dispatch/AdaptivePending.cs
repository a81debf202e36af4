using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>A started call. It is measured when its result is taken, unless that has already been done.</summary>
internal readonly struct AdaptivePending<TResult, TPending> : IPending<TResult>
    where TPending : struct, IPending<TResult>
{
    private readonly TPending _inner;
    private readonly AdaptiveController? _controller;
    private readonly long _started;
    private readonly CancellationToken _cancellationToken;

    public AdaptivePending(TPending inner) => _inner = inner;

    public AdaptivePending(TPending inner, AdaptiveController controller, long started, CancellationToken cancellationToken)
    {
        _inner = inner;
        _controller = controller;
        _started = started;
        _cancellationToken = cancellationToken;
    }

    public bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.IsCompleted;
    }

    public bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public TResult GetResult() => _controller is null ? _inner.GetResult() : Measure();

    public Task? Until => null;

    public WaitKind WaitsFor => default;

    public bool CanBeTask => false;

    public void BecomeTask()
    {
    }

    public void OnCompleted(Action continuation) => _inner.OnCompleted(continuation);

    private TResult Measure()
    {
        bool succeeded = false;
        try
        {
            TResult result = _inner.GetResult();
            succeeded = true;
            return result;
        }
        finally
        {
            _controller!.Ended(_started, succeeded, _cancellationToken);
        }
    }
}
