using System.Runtime.InteropServices;
using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>What becomes of a failed call: it fails the item, is repeated, or gets a result after all.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly struct Recovery<TResult>
{
    private Recovery(RecoveryKind kind, TimeSpan delay, TResult? result, Exception? error, Task? until = null, WaitKind waitsFor = default)
    {
        Kind = kind;
        Delay = delay;
        Result = result;
        Error = error;
        Until = until;
        WaitsFor = waitsFor;
    }

    public static Recovery<TResult> None => default;

    public RecoveryKind Kind { get; }

    public TimeSpan Delay { get; }

    public TResult? Result { get; }

    /// <summary>The error that replaces the call's, if the recovery itself failed.</summary>
    public Exception? Error { get; }

    /// <summary>What ends the delay early, when it has an end before that.</summary>
    public Task? Until { get; }

    /// <summary>What an item waits for whose clock stands still meanwhile.</summary>
    public WaitKind WaitsFor { get; }

    /// <summary>Another attempt after a delay.</summary>
    public static Recovery<TResult> Retry(TimeSpan delay) => new(RecoveryKind.Retry, delay, default, null);

    /// <summary>The same attempt after a delay, or when a task has ended if that is earlier, because it was not really made.</summary>
    public static Recovery<TResult> Defer(TimeSpan delay, Task? until = null) => new(RecoveryKind.Defer, delay, default, null, until);

    /// <summary>The same attempt when a task has ended, however long that takes, because it could not begin. The item's clock stands still meanwhile.</summary>
    public static Recovery<TResult> Wait(Task until, WaitKind kind) => new(RecoveryKind.Wait, default, default, null, until, kind);

    /// <summary>A result may replace the failure. It is asked for next, because the item's time limit does not cover that.</summary>
    public static Recovery<TResult> Replace => new(RecoveryKind.Replace, default, default, null);

    /// <summary>A result that replaces the failure.</summary>
    public static Recovery<TResult> Succeed(TResult result) => new(RecoveryKind.Succeed, default, result, null);

    /// <summary>A failure with another error.</summary>
    public static Recovery<TResult> Fail(Exception error) => new(RecoveryKind.Fail, default, default, error);

    /// <summary>Asks what becomes of a failed call, or for the result in its place. An exception of the user's code is the item's error.</summary>
    public static async ValueTask<Recovery<TResult>> AskAsync(IRecovery<TResult> recovery, FailedCall call, bool replaces)
    {
        try
        {
            return replaces
                ? await recovery.ReplaceAsync(call).ConfigureAwait(false)
                : await recovery.DecideAsync(call).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            return Fail(e);
        }
    }

    /// <summary>The decision came too late: disposes of its result, unless that is the item itself.</summary>
    public void Drop<TItem>(TItem? item)
    {
        if (Kind == RecoveryKind.Succeed)
        {
            DiscardedResult.Drop(item, Result);
        }
    }

    /// <summary>The same for a decision that is still to come.</summary>
    public static async Task DropAsync<TItem>(Task<Recovery<TResult>> decision, TItem? item) => (await decision.ConfigureAwait(false)).Drop(item);
}
