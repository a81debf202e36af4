namespace Weir.Dataflow.Tests.Stress;

/// <summary>How a random network ends.</summary>
public enum Ending
{
    Completed,
    Cancelled,
    Faulted,
    DelegateThrew,
}
