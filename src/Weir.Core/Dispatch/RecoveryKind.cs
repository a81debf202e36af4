namespace Weir.Core.Dispatch;

/// <summary>See <see cref="Recovery{TResult}"/>.</summary>
internal enum RecoveryKind
{
    Fail = 0,
    Retry,
    Defer,
    Wait,
    Succeed,
    Replace,
}
