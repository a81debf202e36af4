using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>A started call. It is measured when its result is taken, unless that has already been done.</summary>
internal readonly struct AdaptivePendingResult<TResult> : IPending<TResult>
{
    private readonly ValueTask<TResult> _task;
    private readonly AdaptiveController? _controller;
    private readonly long _started;
    private readonly CancellationToken _cancellationToken;

    public AdaptivePendingResult(ValueTask<TResult> task) => _task = task;

    public AdaptivePendingResult(ValueTask<TResult> task, AdaptiveController controller, long started, CancellationToken cancellationToken)
    {
        _task = task;
        _controller = controller;
        _started = started;
        _cancellationToken = cancellationToken;
    }

    public bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public TResult GetResult() => _controller is null ? _task.GetAwaiter().GetResult() : Measure();

    public bool CanBeTask => false;

    public void BecomeTask()
    {
    }

    public void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    private TResult Measure()
    {
        bool succeeded = false;
        try
        {
            TResult result = _task.GetAwaiter().GetResult();
            succeeded = true;
            return result;
        }
        finally
        {
            _controller!.Ended(_started, succeeded, _cancellationToken);
        }
    }
}
