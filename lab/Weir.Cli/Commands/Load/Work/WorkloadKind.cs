namespace Weir.Cli.Commands.Load.Work;

/// <summary>What is done for each item.</summary>
internal enum WorkloadKind
{
    Noop,
    Cpu,
    Io,
    Mixed,
    Alloc,

    /// <summary>The SHA-256 of a line of a file.</summary>
    Hash,
}
