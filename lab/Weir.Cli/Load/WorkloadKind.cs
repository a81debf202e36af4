namespace Weir.Cli.Load;

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
