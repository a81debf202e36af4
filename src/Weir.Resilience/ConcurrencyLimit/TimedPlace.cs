namespace Weir.Resilience;

/// <summary>
/// The permit of a call under a time limit that gives the call up while it runs. At the limit, the permit is returned, because the call may never end. A call
/// that its own caller cancelled keeps its permit until it ends.
/// </summary>
internal sealed class TimedPlace : IPlace, IUnattended
{
    private readonly IPlace _place;
    private readonly CancellationToken _callerToken;
    private readonly CancellationTokenRegistration _link;

    // 1 once the permit is returned. The end of the call and its time limit race for that, and the exchange lets one of them return it: returned twice, the
    // permit would let one call too many in.
    private int _left;

    /// <summary>Takes over a permit.</summary>
    /// <param name="place">The permit.</param>
    /// <param name="token">Cancelled at the time limit and by the caller.</param>
    /// <param name="callerToken">Cancelled by the caller only.</param>
    public TimedPlace(IPlace place, CancellationToken token, CancellationToken callerToken)
    {
        _place = place;
        _callerToken = callerToken;
        _link = token.UnsafeRegister(static place => Unattended.Run((TimedPlace)place!, static place => place.Cancelled()), this);
    }

    public void Leave()
    {
        _link.Unregister();
        LeaveOnce();
    }

    /// <summary>The permit could not be returned: tries once more. Nothing else returns it if the call never ends.</summary>
    void IUnattended.WorkFailed(Exception error) => Cancelled();

    private void Cancelled()
    {
        if (!_callerToken.IsCancellationRequested)
        {
            LeaveOnce();
        }
    }

    private void LeaveOnce()
    {
        if (Interlocked.Exchange(ref _left, 1) == 0)
        {
            _place.Leave();
        }
    }
}
