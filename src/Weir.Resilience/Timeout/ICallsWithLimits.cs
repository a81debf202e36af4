namespace Weir.Resilience;

/// <summary>The calls of a run under its limit of an attempt, for code that does not know the type of their results.</summary>
internal interface ICallsWithLimits
{
    /// <summary>
    /// Cancels the tokens of the calls that were made with a caller's token, which is cancelled. They are cancelled by it in any case, but on another thread,
    /// which may be late.
    /// </summary>
    void CancelCallsOf(CancellationToken callerToken);
}
