namespace Weir.Cli.Tests.Support;

/// <summary>Tests of what the system counts for the whole process, such as bytes from the device: what other tests read meanwhile would be in it.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class AloneInTheProcess
{
    public const string Name = "alone in the process";
}
