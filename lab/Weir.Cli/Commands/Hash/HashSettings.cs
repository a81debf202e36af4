namespace Weir.Cli.Commands.Hash;

/// <summary>The checked settings of one run of <c>hash</c>.</summary>
internal sealed record HashSettings
{
    // There is no read-ahead for reads that bypass the cache: with 4 KiB, the round trip of a request would be measured.
    private const int DirectBuffer = 1024 * 1024;

    public required string Input { get; init; }

    /// <summary>What each measuring process is told, but for its arm, its workers, its rounds, and its buffer if none was given.</summary>
    public required HashOrder Order { get; init; }

    public required IReadOnlyList<int> Workers { get; init; }

    public required IReadOnlyList<HashArm> Arms { get; init; }

    public required int Rounds { get; init; }

    /// <summary>Bytes of one read; <see langword="null"/> for 4,096, or 1 MiB past the page cache.</summary>
    public required int? Buffer { get; init; }

    /// <summary>Whether each round gets a process of its own.</summary>
    public required bool Isolate { get; init; }

    /// <summary>What a measuring process is told, one for each arm and number of workers.</summary>
    public IReadOnlyList<HashOrder> Orders() =>
    [
        .. Workers.SelectMany(_ => Arms, (workers, arm) => Order with { Workers = workers, Arm = arm, Rounds = Isolate ? 1 : Rounds })
            .Select(order => order with { Buffer = Buffer ?? (order.IsDirect ? DirectBuffer : FileHasher.PlatformBuffer) }),
    ];
}
