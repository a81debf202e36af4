using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;

namespace Weir.Policies;

/// <summary>Lets an async method await a started call of any kind, without capturing a context.</summary>
internal readonly struct PendingAwaiter<TResult, TPending>(TPending pending) : ICriticalNotifyCompletion
    where TPending : struct, IPending<TResult>
{
    public bool IsCompleted => pending.IsCompleted;

    public PendingAwaiter<TResult, TPending> GetAwaiter() => this;

    public TResult GetResult() => pending.GetResult();

    public void OnCompleted(Action continuation) => pending.OnCompleted(continuation);

    public void UnsafeOnCompleted(Action continuation) => pending.OnCompleted(continuation);
}
