namespace Weir.Delivery.Tests.Faults;

/// <summary>Tests that take something from the whole process, and so run while no other test does.</summary>
[CollectionDefinition(nameof(Alone), DisableParallelization = true)]
public sealed class Alone;
