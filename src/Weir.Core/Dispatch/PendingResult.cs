using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>A started call that ends with a result.</summary>
internal struct PendingResult<TResult>(ValueTask<TResult> task) : IPending<TResult>
{
    private ValueTask<TResult> _task = task;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _task.GetAwaiter().GetResult();

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => true;

    public readonly Task AsTask() => _task.AsTask();

    public readonly TResult ResultOf(Task call) => Unsafe.As<Task<TResult>>(call).GetAwaiter().GetResult();

    public void BecomeTask() => _task = new ValueTask<TResult>(_task.AsTask());
}
