namespace Weir.Logging.Tests;

/// <summary>For tests of what listeners get: a listener gets what all runs of the process send, and other tests' spans would fill its exports.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class AloneInTheProcess
{
    public const string Name = "alone in the process";
}
