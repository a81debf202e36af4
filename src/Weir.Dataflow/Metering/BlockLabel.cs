using Weir.Core.Metering;

namespace Weir.Dataflow.Metering;

/// <summary>What tells blocks apart in metrics.</summary>
internal sealed record BlockLabel(string Kind, string? Name)
{
    private const string KindTag = "weir.block.type";
    private const string NameTag = "weir.block.name";

    /// <summary>The label under which the blocks of too many names are counted together, with the tag that OpenTelemetry has for it.</summary>
    public static BlockLabel Overflow { get; } = new("overflow", null);

    /// <summary>What the block is called.</summary>
    public static BlockLabel Of(IMeteredBlock block) => new(block.Type.Name.Split('`')[0], block.Name);

    public KeyValuePair<string, object?>[] Tags { get; } = (Kind, Name) switch
    {
        ("overflow", _) => [new("otel.metric.overflow", true)],
        (_, null) => [new(KindTag, Kind)],
        _ => [new(KindTag, Kind), new(NameTag, Name)],
    };

    /// <summary>The tags with some more after them.</summary>
    public KeyValuePair<string, object?>[] With(string? key, object? value) => key is null ? Tags : [.. Tags, new(key, value)];

    /// <summary>The tags, the outcome and what was thrown.</summary>
    public KeyValuePair<string, object?>[] WithOutcome(string outcome, string? error) => error is null
        ? With(DiagnosticNames.Outcome, outcome)
        : [.. Tags, new(DiagnosticNames.Outcome, outcome), new(DiagnosticNames.ErrorType, error)];

    public bool Equals(BlockLabel? other) => other is not null && Kind == other.Kind && Name == other.Name;

    public override int GetHashCode() => HashCode.Combine(Kind, Name);
}
