namespace Weir.Dataflow.Waiters;

/// <summary>The waiters that a source keeps, so that the next one who waits allocates nothing.</summary>
internal sealed class SpareWaiters<T>
{
    private ValueWaiter<T>? _forMessage;
    private AvailableValueWaiter<T>? _forAvailability;

    public static SpareWaiters<T> Of(ref SpareWaiters<T>? spares) =>
        Volatile.Read(ref spares) ?? Interlocked.CompareExchange(ref spares, new SpareWaiters<T>(), null) ?? spares;

    public ValueWaiter<T>? TakeForMessage() => Interlocked.Exchange(ref _forMessage, null);

    public AvailableValueWaiter<T>? TakeForAvailability() => Interlocked.Exchange(ref _forAvailability, null);

    public void Keep(ValueWaiter<T> waiter) => Volatile.Write(ref _forMessage, waiter);

    public void Keep(AvailableValueWaiter<T> waiter) => Volatile.Write(ref _forAvailability, waiter);
}
