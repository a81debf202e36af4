using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>A started call. It is measured when its result is taken, unless that has already been done.</summary>
internal struct AdaptivePending<TResult, TPending> : IPending<TResult>
    where TPending : struct, IPending<TResult>
{
    private TPending _inner;
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

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _controller is null ? _inner.GetResult() : Measure();

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => false;

    public readonly Task AsTask() => throw new UnreachableException();

    public readonly TResult ResultOf(Task call) => throw new UnreachableException();

    public void BecomeTask() => _inner.BecomeTask();

    public readonly void OnCompleted(Action continuation) => _inner.OnCompleted(continuation);

    private readonly TResult Measure()
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
