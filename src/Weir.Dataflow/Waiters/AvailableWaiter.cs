namespace Weir.Dataflow.Waiters;

/// <summary>A pending OutputAvailableAsync, or WaitToReceiveAsync if it is reused.</summary>
internal sealed class AvailableWaiter<T> : ReceiveWaiter<T, bool>
{
    public AvailableWaiter(ReceiveSource<T> source, bool isReused = false)
        : base(source, takesMessage: false, isReused)
    {
    }

    public override void SourceEnded() => Set(false);

    public override void Keep() => SpareWaiters<T>.Of(ref Source.Spares).Keep(this);

    protected override void Succeed() => Set(true);
}
