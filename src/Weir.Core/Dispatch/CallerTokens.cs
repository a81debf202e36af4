namespace Weir.Core.Dispatch;

/// <summary>The tokens with which the caller of a run can stop it: that of the call, and that of an enumerator.</summary>
internal struct CallerTokens
{
    private CancellationTokenRegistration _ofCall;
    private CancellationTokenRegistration _ofEnumerator;

    /// <summary>Lets the tokens stop the run. One that is cancelled stops it here.</summary>
    public void Register(Pump run, CancellationToken ofCall, CancellationToken ofEnumerator)
    {
        _ofCall = Register(run, ofCall);
        if (ofEnumerator != ofCall)
        {
            _ofEnumerator = Register(run, ofEnumerator);
        }
    }

    /// <summary>The tokens no longer stop the run.</summary>
    /// <returns>False if one of them may be stopping it at this moment, or has.</returns>
    public readonly bool Unregister()
    {
        bool isLetGo = _ofCall == default || _ofCall.Unregister();
        return (_ofEnumerator == default || _ofEnumerator.Unregister()) && isLetGo;
    }

    // A token may be cancelled by a timer, so nothing is above this on its thread.
    private static CancellationTokenRegistration Register(Pump run, CancellationToken token) => !token.CanBeCanceled
        ? default
        : token.UnsafeRegister(static (run, token) => Unattended.Run((Pump)run!, static (run, token) => run.Cancel(token), token), run);
}
