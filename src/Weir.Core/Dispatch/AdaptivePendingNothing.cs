using System.Runtime.CompilerServices;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>A started call without a result. It is measured when it is found to have ended, unless that has already been done.</summary>
internal readonly struct AdaptivePendingNothing : IPending<Nothing>
{
    private readonly ValueTask _task;
    private readonly AdaptiveController? _controller;
    private readonly long _started;
    private readonly CancellationToken _cancellationToken;

    public AdaptivePendingNothing(ValueTask task) => _task = task;

    public AdaptivePendingNothing(ValueTask task, AdaptiveController controller, long started, CancellationToken cancellationToken)
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

    public Nothing GetResult()
    {
        if (_controller is null)
        {
            _task.GetAwaiter().GetResult();
            return default;
        }

        bool succeeded = false;
        try
        {
            _task.GetAwaiter().GetResult();
            succeeded = true;
            return default;
        }
        finally
        {
            _controller.Ended(_started, succeeded, _cancellationToken);
        }
    }

    public bool CanBeTask => false;

    public void BecomeTask()
    {
    }

    public void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);
}
