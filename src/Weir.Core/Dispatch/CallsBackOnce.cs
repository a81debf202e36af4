using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// Calls of the user whose end can be waited for with something that is used again for other items. A task calls back exactly once. A task source of the user
/// may do so again at any time, or throw although it does: waited for directly, it would continue another item.
/// </summary>
/// <remarks>Costs nothing for a call that has completed or is a task. A task source gets a task.</remarks>
internal static class CallsBackOnce
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ValueTask<TResult> Of<TResult>(ValueTask<TResult> call) => call.IsCompleted ? call : new ValueTask<TResult>(call.AsTask());
}
