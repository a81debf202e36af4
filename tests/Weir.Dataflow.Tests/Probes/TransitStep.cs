namespace Weir.Dataflow.Tests.Probes;

/// <summary>Where a message is on its way from a source to a block.</summary>
public enum TransitStep
{
    Reserve,
    Consume,
    Release,
}
