using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>A started call: a ValueTask of one kind or another. Consume it only once.</summary>
internal interface IPending<out TResult>
{
    bool IsCompleted { get; }

    bool IsCompletedSuccessfully { get; }

    TResult GetResult();

    /// <summary>
    /// What the item has to wait for before its call can begin; null if the call has begun. A call that has not begun is complete, but not successfully.
    /// Where no call ever waits, this is a constant, also for the compiler.
    /// </summary>
    Task? Until { get; }

    /// <summary>What <see cref="Until"/> is, when there is one.</summary>
    WaitKind WaitsFor { get; }

    /// <summary>Whether nothing but its end is left to wait for, so that it may be parked.</summary>
    bool CanBeParked { get; }

    /// <summary>The call as it is parked. After <see cref="BecomeTask"/>.</summary>
    Task AsTask();

    /// <summary>The result of a call that was parked and has ended. It needs no started call.</summary>
    TResult ResultOf(Task call);

    /// <summary>
    /// Makes it one that calls back exactly once, before the first wait for it: a task source of the user need not, see <see cref="CallsBackOnce"/>. It may
    /// throw what the source throws.
    /// </summary>
    void BecomeTask();

    /// <summary>Calls back once, without the execution context and without a captured context. After <see cref="BecomeTask"/>.</summary>
    void OnCompleted(Action continuation);
}
