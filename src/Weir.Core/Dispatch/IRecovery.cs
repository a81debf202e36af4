using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>Decides what becomes of a call that failed, before it counts as a failure of its item. Called from several workers at once.</summary>
internal interface IRecovery<TResult>
{
    /// <summary>How long one attempt may take, or null. An attempt that takes longer fails, and comes here like any other.</summary>
    TimeSpan? AttemptTimeout { get; }

    /// <summary>The error of an attempt that passed its limit.</summary>
    Exception AttemptTimedOut(int attempt);

    /// <summary>Whether a call ended because its attempt passed the limit of the run.</summary>
    bool HasTimedOut(Exception error) => false;

    /// <summary>Whether a call was not made, because the item waits for something else first.</summary>
    bool HasNotBegun(Exception error) => false;

    ValueTask<Recovery<TResult>> DecideAsync(FailedCall call);

    /// <summary>Gets the result that replaces a failure, after <see cref="Recovery{TResult}.Replace"/>.</summary>
    ValueTask<Recovery<TResult>> ReplaceAsync(FailedCall call) => throw new UnreachableException();

    /// <summary>Lets go of what a failed call holds, because its item has ended without a decision. Never throws.</summary>
    /// <returns>Null if there is nothing to wait for.</returns>
    Task? Discard(Exception error, long index) => null;

    /// <summary>An item was given up before it began to wait for what its call needs. It leaves the queue. Never throws.</summary>
    void LeaveQueues(long index)
    {
    }
}
