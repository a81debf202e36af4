using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>A started call that ends without a result.</summary>
internal struct PendingNothing(ValueTask task) : IPending<Nothing>
{
    private ValueTask _task = task;

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
    public readonly Nothing GetResult()
    {
        _task.GetAwaiter().GetResult();
        return default;
    }

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => true;

    public readonly Task AsTask() => _task.AsTask();

    public readonly Nothing ResultOf(Task call)
    {
        call.GetAwaiter().GetResult();
        return default;
    }

    public void BecomeTask() => _task = new ValueTask(_task.AsTask());
}
