namespace Weir.Cli.Commands.Hash;

/// <summary>What a measuring process is to do: some rounds of one arm.</summary>
internal sealed record HashOrder
{
    public required string Directory { get; init; }

    /// <summary>Where the small files are that the code is warmed up on.</summary>
    public string WarmUpDirectory { get; init; } = "";

    public required int Files { get; init; }

    public required long FileSize { get; init; }

    public HashArm Arm { get; init; }

    public required CacheMode Cache { get; init; }

    public int Workers { get; init; }

    /// <summary>Bytes of one read.</summary>
    public int Buffer { get; init; }

    /// <summary>The most files under way at once; <see langword="null"/> for no limit but the workers.</summary>
    public int? InFlight { get; init; }

    /// <summary>The number of threads that the pool creates without delay; <see langword="null"/> for its default.</summary>
    public int? MinThreads { get; init; }

    /// <summary>How many rounds.</summary>
    public int Rounds { get; init; } = 1;

    /// <summary>Whether the reads go past the page cache.</summary>
    public bool IsDirect => Arm == HashArm.Direct || Cache == CacheMode.Direct;

    public string PathOf(int index) => RandomFiles.PathOf(Directory, index);
}
