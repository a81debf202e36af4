using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>What an attempt ends with that passed its limit. Its text is that of its reason, which may be told its number later.</summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "It has a reason always.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "For others it is a cancellation with a reason, as all time limits are.")]
internal sealed class AttemptCanceledException(AttemptTimeoutException reason) : TaskCanceledException(null, reason)
{
    public AttemptTimeoutException Reason => (AttemptTimeoutException)InnerException!;

    public override string Message => Reason.Message;
}
