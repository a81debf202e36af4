namespace Weir.Dataflow.Waiters;

/// <summary>The waiters that a source keeps, so that the next wait allocates nothing.</summary>
/// <remarks>
/// A waiter is taken by an exchange, because two waits with the same waiter would get the same message. It is put back with a plain write when its result has
/// been read and nothing can complete it any more. If two are put back at once, one is lost to the garbage collector.
/// </remarks>
internal sealed class SpareWaiters<T>
{
    private MessageWaiter<T>? _forMessage;
    private AvailableWaiter<T>? _forAvailability;

    public static SpareWaiters<T> Of(ref SpareWaiters<T>? spares) =>
        Volatile.Read(ref spares) ?? Interlocked.CompareExchange(ref spares, new SpareWaiters<T>(), null) ?? spares;

    public MessageWaiter<T>? TakeForMessage() => Interlocked.Exchange(ref _forMessage, null);

    public AvailableWaiter<T>? TakeForAvailability() => Interlocked.Exchange(ref _forAvailability, null);

    public void Keep(MessageWaiter<T> waiter) => Volatile.Write(ref _forMessage, waiter);

    public void Keep(AvailableWaiter<T> waiter) => Volatile.Write(ref _forAvailability, waiter);
}
