namespace Weir.Docs.Tests;

/// <summary>Programs that write to the console share it, so that they run one after the other and alone.</summary>
[CollectionDefinition(nameof(Console), DisableParallelization = true)]
public class OneAfterTheOther;
