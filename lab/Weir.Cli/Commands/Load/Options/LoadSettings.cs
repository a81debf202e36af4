namespace Weir.Cli.Commands.Load.Options;

/// <summary>All settings of a run, after defaults and environment variables are applied.</summary>
internal sealed record LoadSettings
{
    public required int Count { get; init; }

    public required int BatchSize { get; init; }

    /// <summary>The kinds of runtime that take part.</summary>
    public required IReadOnlyList<RuntimeKind> Runtimes { get; init; }

    public required int Concurrency { get; init; }

    public required int ParallelSize { get; init; }

    /// <summary>The time limit of an item.</summary>
    public required TimeSpan? Timeout { get; init; }

    public required bool PreserveOrder { get; init; }

    /// <summary>How many items a warm-up pass has.</summary>
    public required int Warmup { get; init; }

    public required bool Json { get; init; }

    public required int Trials { get; init; }

    /// <summary>The name of the work.</summary>
    public required string Workload { get; init; }

    /// <summary>How long the work of an item takes; zero when it has no length.</summary>
    public TimeSpan Grain { get; init; }

    /// <summary>How much memory the work of an item takes; zero when it takes none.</summary>
    public int GrainBytes { get; init; }

    /// <summary>The share of the items that fail.</summary>
    public required double FailRate { get; init; }

    /// <summary>The sizes of the runtimes, when several are compared; otherwise empty.</summary>
    public required IReadOnlyList<int> Sweep { get; init; }

    /// <summary>The user's own items.</summary>
    public LineFile? Input { get; init; }

    public required bool Peers { get; init; }

    /// <summary>Whether the run is shown live. This measures the latency of each item.</summary>
    public bool Watch { get; init; }

    /// <summary>Whether all that there is is printed, and not one screen.</summary>
    public bool Details { get; init; }

    /// <summary>Whether items wait, so that many should be in flight at once.</summary>
    public bool Waits => Row is { Waits: true };

    /// <summary>The workload of the catalogue; <see langword="null"/> when the items are the user's own.</summary>
    public BuiltIn? Row => Input is null ? BuiltIns.Find(Workload) : null;

    /// <summary>How many items the peers have in flight: the number of processors, or the concurrency if items wait.</summary>
    public int PeerDegree => Waits ? Concurrency : Environment.ProcessorCount;

    /// <summary>The word for the runtimes that take part.</summary>
    public string Runtime => Runtimes.Count > 1 ? "all" : Choices[0].Word;

    /// <summary>Makes the work.</summary>
    public ItemWorkload CreateWorkload() => Row is { } row
        ? row.Create(new BuiltInValues(Grain, GrainBytes > 0 ? GrainBytes : row.Parameter?.Usual ?? 0, null))
        : Input!.Workload();

    /// <summary>The runtimes that take part, in the order of the report.</summary>
    public IReadOnlyList<RuntimeChoice> Choices =>
    [
        .. Runtimes.SelectMany(kind => kind switch
        {
            RuntimeKind.Direct => [new RuntimeChoice(kind, 1, IsSwept: false)],
            RuntimeKind.Auto => [new RuntimeChoice(kind, Concurrency, IsSwept: false)],
            _ when Sweep.Count > 0 => Sweep.Select(size => new RuntimeChoice(kind, size, IsSwept: true)),
            RuntimeKind.Concurrent => [new RuntimeChoice(kind, Concurrency, IsSwept: false)],
            _ => [new RuntimeChoice(kind, ParallelSize, IsSwept: false)],
        }),
    ];
}
