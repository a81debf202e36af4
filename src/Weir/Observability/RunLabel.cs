using System.Globalization;
using System.Text;
using Weir.Core.Metering;

namespace Weir.Observability;

/// <summary>What tells the runs of a process apart in metrics and spans: the operator, the caller's own name and the caller's tags.</summary>
/// <remarks>Two labels are equal if they show the same. Only text is compared, so no user code runs in a comparison.</remarks>
internal sealed class RunLabel : IEquatable<RunLabel>
{
    private const string OperationTag = "weir.operation";
    private const string RuntimeTag = "weir.runtime";
    private const string NameTag = "weir.operation.name";

    private readonly string _shown;

    private RunLabel(string operation, string? name, IReadOnlyList<KeyValuePair<string, object?>>? tags, string? runtime = null)
    {
        Operation = operation;
        Name = name;
        List<KeyValuePair<string, object?>> all = [new(OperationTag, operation)];
        if (runtime is not null)
        {
            all.Add(new(RuntimeTag, runtime));
        }

        if (name is not null)
        {
            all.Add(new(NameTag, name));
        }

        foreach (KeyValuePair<string, object?> tag in tags ?? [])
        {
            all.Add(new(tag.Key, Plain(tag.Value)));
        }

        Tags = [.. all];
        _shown = TextOf(Tags);
    }

    /// <summary>The label under which the runs of too many labels are counted together, with the tag that OpenTelemetry has for it.</summary>
    public static RunLabel Overflow { get; } = new("overflow", null, [new("otel.metric.overflow", true)]);

    /// <summary>The name of the operator.</summary>
    public string Operation { get; }

    /// <summary>The caller's own name for the run.</summary>
    public string? Name { get; }

    /// <summary>All tags, in order: the operator, the runtime, the name, the caller's own.</summary>
    public KeyValuePair<string, object?>[] Tags { get; }

    public static RunLabel Of(string operation, ParallelRunOptions options) => new(operation, options.OperationName, options.Metrics?.Tags);

    /// <summary>The label of a call of a runtime.</summary>
    public static RunLabel Of(string operation, string? runtime, string? name, IReadOnlyList<KeyValuePair<string, object?>>? tags) =>
        new(operation, name, tags, runtime);

    /// <summary>The tags with some more after them.</summary>
    public KeyValuePair<string, object?>[] With(params ReadOnlySpan<KeyValuePair<string, object?>> more) => [.. Tags, .. more];

    public bool Equals(RunLabel? other) => other?._shown == _shown;

    public override bool Equals(object? obj) => Equals(obj as RunLabel);

    public override int GetHashCode() => _shown.GetHashCode(StringComparison.Ordinal);

    /// <summary>Values that listeners can have as they are; everything else as text.</summary>
    private static object? Plain(object? value) => value switch
    {
        null or string or bool or byte or short or int or long or float or double => value,
        _ => SafeCall.Invoke(static value => Convert.ToString(value, CultureInfo.InvariantCulture), value),
    };

    private static string TextOf(KeyValuePair<string, object?>[] tags)
    {
        StringBuilder text = new();
        foreach ((string key, object? value) in tags)
        {
            // Lengths first, so that no two different lists have one text.
            string shown = string.Create(CultureInfo.InvariantCulture, $"{value}");
            text.Append(CultureInfo.InvariantCulture, $"{key.Length}:{key}{shown.Length}:{shown}{value?.GetType().Name};");
        }

        return text.ToString();
    }
}
