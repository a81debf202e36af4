namespace Weir.Dataflow.Tests.Probes;

/// <summary>One call of OfferMessage as the target saw it.</summary>
public sealed record Offer<T>(DataflowMessageHeader Header, T Value, ISourceBlock<T>? Source, bool ConsumeToAccept)
{
    public long Id => Header.Id;
}
