namespace Weir.Dataflow.Tests.Probes;

/// <summary>Tests that take something from the whole process, such as the threads of the pool, and so run while no other test does.</summary>
[CollectionDefinition(nameof(WithoutOthers), DisableParallelization = true)]
public class WithoutOthers;
