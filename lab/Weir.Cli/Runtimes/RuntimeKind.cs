namespace Weir.Cli.Runtimes;

/// <summary>The kinds of runtime.</summary>
internal enum RuntimeKind
{
    Direct,
    Concurrent,
    Parallel,

    /// <summary>Chooses automatically.</summary>
    Auto,
}
