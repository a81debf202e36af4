namespace Weir.Lab.Tests.Support;

/// <summary>Tests of what is counted for the whole process, such as allocated bytes: what other tests do meanwhile would be in it.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class AloneInTheProcess
{
    public const string Name = "alone in the process";
}
