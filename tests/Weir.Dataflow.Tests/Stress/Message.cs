namespace Weir.Dataflow.Tests.Stress;

/// <summary>A message of a random network.</summary>
public readonly record struct Message(int Producer, int Number);
