using System.Diagnostics;

namespace Weir.RabbitMQ;

/// <summary>The trace context of W3C in the headers of a message: that of whoever publishes, unless an item brings its own.</summary>
internal static class TraceContext
{
    public const string Parent = "traceparent";
    public const string State = "tracestate";

    /// <summary>The headers of a message that is published now; null outside of an activity.</summary>
    public static Dictionary<string, object?>? Current()
    {
        if (Activity.Current is not { IdFormat: ActivityIdFormat.W3C, Id: { } id } activity)
        {
            return null;
        }

        Dictionary<string, object?> headers = new(StringComparer.Ordinal) { [Parent] = id };
        if (activity.TraceStateString is { Length: > 0 } state)
        {
            headers[State] = state;
        }

        return headers;
    }

    /// <summary>The context in the headers of a message, as headers of its items; null if there is none.</summary>
    public static Dictionary<string, string>? Read(IDictionary<string, object?>? headers)
    {
        if (Text(headers, Parent) is not { } parent)
        {
            return null;
        }

        Dictionary<string, string> context = new(StringComparer.Ordinal) { [Parent] = parent };
        if (Text(headers, State) is { } state)
        {
            context[State] = state;
        }

        return context;
    }

    /// <summary>The headers of an item, with the context of its message if it has none of its own.</summary>
    public static IReadOnlyDictionary<string, string>? Merge(IReadOnlyDictionary<string, string>? own, Dictionary<string, string>? context)
    {
        if (own is null || context is null || own.ContainsKey(Parent))
        {
            return own ?? context;
        }

        Dictionary<string, string> both = new(own, StringComparer.Ordinal);
        foreach ((string name, string value) in context)
        {
            both[name] = value;
        }

        return both;
    }

    // RabbitMQ gives texts as bytes.
    private static string? Text(IDictionary<string, object?>? headers, string name) =>
        headers is not null && headers.TryGetValue(name, out object? value)
            ? value switch { byte[] bytes => EnvelopeFormat.Readable(bytes), string text => text, _ => null }
            : null;
}
