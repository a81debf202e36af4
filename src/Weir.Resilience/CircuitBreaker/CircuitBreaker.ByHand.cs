namespace Weir.Resilience;

// What people do by hand.
public sealed partial class CircuitBreaker
{
    /// <summary>The time of an isolated circuit's first probe.</summary>
    private const long Never = long.MaxValue;

    /// <summary>The exception of the call that opened the circuit, which rejections have as their inner exception.</summary>
    /// <value>
    /// <see langword="null"/> if the circuit is closed, was opened by hand without one, or was opened by a failure of which no exception was reported. Of a
    /// call that ran out of time, it is the <see cref="TimeoutException"/>.
    /// </value>
    /// <remarks>
    /// The circuit keeps this one exception, and all that it leads to, until it closes. It keeps no <see cref="OperationCanceledException"/>, whose token leads
    /// to everything that is registered with it.
    /// </remarks>
    public Exception? OpenedBy => Volatile.Read(ref _openedBy);

    /// <summary>Whether the circuit is open until <see cref="Close"/>.</summary>
    public bool IsIsolated => Volatile.Read(ref _tryableAt) == Never;

    /// <summary>Opens the circuit as a failure does: for <see cref="CircuitBreakerOptions.OpenTimeout"/> from now, also if it is open already.</summary>
    /// <param name="reason">Why, for <see cref="OpenedBy"/>.</param>
    public void Open(Exception? reason = null) => Open(_openTicks, reason);

    /// <summary>Opens the circuit until <see cref="Close"/>, or until <see cref="Open(Exception?)"/> sets it a time again.</summary>
    /// <param name="reason">Why, for <see cref="OpenedBy"/>.</param>
    public void Isolate(Exception? reason = null) => Open(Never, reason);

    /// <summary>Closes the circuit, and forgets what failed. Calls that are under way count for nothing.</summary>
    public void Close()
    {
        TaskCompletionSource? change;
        lock (_lock)
        {
            Volatile.Write(ref _tryableAt, 0);
            change = MoveNeedsLock(CircuitBreakerState.Closed);
        }

        change?.TrySetResult();
    }

    private void Open(long ticks, Exception? reason)
    {
        TaskCompletionSource? change;
        lock (_lock)
        {
            change = OpenNeedsLock(ticks == Never ? Never : _clock.Now + ticks, reason);
        }

        change?.TrySetResult();
    }
}
