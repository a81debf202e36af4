namespace Weir.Dataflow.Tests.Probes;

/// <summary>A target all of whose members throw.</summary>
public sealed class ThrowingTarget<T> : ITargetBlock<T>
{
    public Task Completion => throw new FormatException("target");

    public DataflowMessageStatus OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        throw new FormatException("target");

    public void Complete() => throw new FormatException("target");

    public void Fault(Exception exception) => throw new FormatException("target");
}
