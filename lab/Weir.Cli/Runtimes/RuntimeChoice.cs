namespace Weir.Cli.Runtimes;

/// <summary>A runtime that takes part in a run.</summary>
/// <param name="Kind">The kind.</param>
/// <param name="Size">The concurrency, the number of threads, or the most items in flight; 1 for direct.</param>
/// <param name="IsSwept">Whether there are several of the kind, so that the size belongs to the name.</param>
internal sealed record RuntimeChoice(RuntimeKind Kind, int Size, bool IsSwept)
{
    public string Word => Kind.ToString().ToLowerInvariant();

    /// <summary>The name in reports.</summary>
    public string Name => IsSwept ? string.Create(CultureInfo.InvariantCulture, $"{Word}/{Size}") : Word;

    public IExecutionRuntime Create() => Kind switch
    {
        RuntimeKind.Direct => new DirectRuntime(),
        RuntimeKind.Concurrent => new ConcurrentRuntime(Size),
        RuntimeKind.Auto => new AutoRuntime(Size),
        _ => new ParallelRuntime(Size),
    };
}

/// <summary>The kinds of runtime.</summary>
internal enum RuntimeKind
{
    Direct,
    Concurrent,
    Parallel,

    /// <summary>Chooses automatically.</summary>
    Auto,
}
