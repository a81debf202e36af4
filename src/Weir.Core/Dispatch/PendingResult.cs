using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>A started call that ends with a result.</summary>
internal readonly struct PendingResult<TResult>(ValueTask<TResult> task) : IPending<TResult>
{
    private readonly ValueTask<TResult> _task = task;

    /// <summary>The call itself, to be awaited instead of being asked through this type.</summary>
    public ValueTask<TResult> Task => _task;

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
    public TResult GetResult() => _task.GetAwaiter().GetResult();

    public void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);
}
