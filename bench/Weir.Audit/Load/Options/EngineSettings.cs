using Weir.Delivery.Cli.Engines;

namespace Weir.Audit.Load.Options;

/// <summary>All settings of a run over queues.</summary>
internal sealed record EngineSettings
{
    /// <summary>The engines, each with the address of its server.</summary>
    public required IReadOnlyList<(WorkEngine Engine, OptionValue Address)> Engines { get; init; }

    /// <summary>How many items travel together, in each of the queues of an engine.</summary>
    public required IReadOnlyList<int> ItemsPerMessage { get; init; }

    public required int Consumers { get; init; }

    public required int Publishers { get; init; }

    /// <summary>How many items each consumer runs at once.</summary>
    public required int Concurrency { get; init; }

    /// <summary>How many keys the items have.</summary>
    public required int Keys { get; init; }

    /// <summary>Whether the items of a key are processed in order.</summary>
    public required bool IsOrdered { get; init; }

    /// <summary>Items a second that are published whatever becomes of them; <see langword="null"/> to publish when others are done.</summary>
    public required double? Rate { get; init; }

    /// <summary>How many items are between publishing and done, at most, without a rate; <see langword="null"/> for the default of each queue.</summary>
    public required int? InFlight { get; init; }

    /// <summary>How long the last acknowledgement may be ago until what is missing counts as lost.</summary>
    public required TimeSpan Patience { get; init; }

    /// <summary>Items of a pass; <see langword="null"/> for the default of each queue.</summary>
    public required int? Count { get; init; }

    /// <summary>Items of a warm-up pass; <see langword="null"/> for the default.</summary>
    public required int? Warmup { get; init; }

    public required int Trials { get; init; }

    public required bool Json { get; init; }
}
