using Weir.Dataflow.Links;

namespace Weir.Dataflow.Waiters;

/// <summary>A pending ReceiveAsync, or ReceiveValueAsync if it is reused.</summary>
internal sealed class MessageWaiter<T> : ReceiveWaiter<T, T>
{
    public MessageWaiter(ReceiveSource<T> source, bool isReused = false)
        : base(source, takesMessage: true, isReused)
    {
    }

    public override void SourceEnded() => Fail(new InvalidOperationException(Protocol.NoData));

    public override void Keep()
    {
        Item = default;
        SpareWaiters<T>.Of(ref Source.Spares).Keep(this);
    }

    protected override void Succeed() => Set(Item!);
}
