namespace Weir.Tests.Operators.Budgets;

/// <summary>Tests that measure the process, and so run while no other test does.</summary>
[CollectionDefinition(nameof(Alone), DisableParallelization = true)]
public class Alone;
