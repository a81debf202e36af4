using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>What becomes of a call that failed: it is the item's failure, is repeated, or has a result after all.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly struct Recovery<TResult>
{
    private Recovery(RecoveryKind kind, TimeSpan delay, TResult? result, Exception? error)
    {
        Kind = kind;
        Delay = delay;
        Result = result;
        Error = error;
    }

    public static Recovery<TResult> None => default;

    public RecoveryKind Kind { get; }

    public TimeSpan Delay { get; }

    public TResult? Result { get; }

    /// <summary>The error that takes the place of the call's, when the recovery itself failed.</summary>
    public Exception? Error { get; }

    /// <summary>Another attempt after a delay.</summary>
    public static Recovery<TResult> Retry(TimeSpan delay) => new(RecoveryKind.Retry, delay, default, null);

    /// <summary>The same attempt after a delay, because it was not really made.</summary>
    public static Recovery<TResult> Defer(TimeSpan delay) => new(RecoveryKind.Defer, delay, default, null);

    /// <summary>A result in place of the failure.</summary>
    public static Recovery<TResult> Succeed(TResult result) => new(RecoveryKind.Succeed, default, result, null);

    /// <summary>A failure with another error.</summary>
    public static Recovery<TResult> Fail(Exception error) => new(RecoveryKind.Fail, default, default, error);
}
