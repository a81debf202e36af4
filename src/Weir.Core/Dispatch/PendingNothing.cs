using System.Runtime.CompilerServices;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>A started call that ends without a result.</summary>
internal readonly struct PendingNothing(ValueTask task) : IPending<Nothing>
{
    private readonly ValueTask _task = task;

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
    public Nothing GetResult()
    {
        _task.GetAwaiter().GetResult();
        return default;
    }

    public void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);
}
