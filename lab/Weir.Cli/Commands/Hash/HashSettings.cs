using Weir.Lab.Suites.Checking;

namespace Weir.Cli.Commands.Hash;

/// <summary>The checked settings of one run of <c>hash</c>.</summary>
internal sealed record HashSettings
{
    public required string Input { get; init; }

    public required int Files { get; init; }

    public required long FileSize { get; init; }

    public required IReadOnlyList<int> Workers { get; init; }

    public required IReadOnlyList<HashArm> Arms { get; init; }

    public required CacheMode Cache { get; init; }

    public required int Rounds { get; init; }

    /// <summary>Bytes of one read; <see langword="null"/> for 4,096, or 1 MiB past the page cache.</summary>
    public required int? Buffer { get; init; }

    public required int? InFlight { get; init; }

    public required int? MinThreads { get; init; }

    /// <summary>Whether each round gets a process of its own.</summary>
    public required bool Isolate { get; init; }

    /// <summary>What a measuring process is told, one for each arm and number of workers.</summary>
    public IReadOnlyList<HashOrder> Orders() => [.. Workers.SelectMany(_ => Arms, Order)];

    private HashOrder Order(int workers, HashArm arm)
    {
        HashOrder order = new()
        {
            Directory = Path.GetFullPath(Input),
            Files = Files,
            FileSize = FileSize,
            Arm = arm,
            Cache = Cache,
            Workers = workers,
            Buffer = FileHasher.PlatformBuffer,
            InFlight = InFlight,
            MinThreads = MinThreads,
            Rounds = Isolate ? 1 : Rounds,
        };
        return order with { Buffer = Buffer ?? (order.IsDirect ? DirectBuffer : FileHasher.PlatformBuffer) };
    }

    // There is no read-ahead for reads that bypass the cache: with 4 KiB, the round trip of a request would be measured.
    private const int DirectBuffer = 1024 * 1024;
}
