namespace Weir.Cli.Load;

/// <summary>The kinds of runtime.</summary>
internal enum RuntimeKind
{
    Direct,
    Concurrent,
    Parallel,

    /// <summary>Chooses by itself.</summary>
    Auto,
}
