namespace Weir.RabbitMQ;

/// <summary>The publisher's trace context in the headers of a message, once for all its items.</summary>
internal static class MessageTrace
{
    /// <summary>The most bytes by which an item may grow when it is published again with the context of its message.</summary>
    public const int MaxBytes = 640;

    private const int MaxParent = 64;

    /// <summary>The headers of a message that is published now; null outside of an activity.</summary>
    public static Dictionary<string, object?>? Current() =>
        TraceContext.Current() is { } context
            ? new(context.Select(static c => KeyValuePair.Create(c.Key, (object?)c.Value)), StringComparer.Ordinal)
            : null;

    /// <summary>The context in the headers of a message, as headers of its items; null if there is none.</summary>
    public static Dictionary<string, string>? Read(IDictionary<string, object?>? headers) =>
        Text(headers, TraceContext.Parent) is { Length: <= MaxParent } parent ? TraceContext.Of(parent, Text(headers, TraceContext.State)) : null;

    // RabbitMQ gives texts as bytes.
    private static string? Text(IDictionary<string, object?>? headers, string name) =>
        headers is not null && headers.TryGetValue(name, out object? value)
            ? value switch { byte[] bytes => EnvelopeFormat.Readable(bytes), string text => text, _ => null }
            : null;
}
