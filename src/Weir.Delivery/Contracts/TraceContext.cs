using System.Diagnostics;
using System.Text;

namespace Weir.Delivery;

/// <summary>The trace context of W3C in the headers of items: the publisher's, unless an item has its own.</summary>
internal static class TraceContext
{
    public const string Parent = "traceparent";
    public const string State = "tracestate";

    // The part that W3C requires everybody to pass on. More might make an item too long for its queue.
    private const int MaxState = 512;

    /// <summary>The headers of what is published now; null outside of an activity.</summary>
    public static Dictionary<string, string>? Current() =>
        Activity.Current is { IdFormat: ActivityIdFormat.W3C, Id: { } id } activity ? Of(id, activity.TraceStateString) : null;

    /// <summary>A context as headers.</summary>
    public static Dictionary<string, string> Of(string parent, string? state)
    {
        Dictionary<string, string> context = new(StringComparer.Ordinal) { [Parent] = parent };
        if (state is { Length: > 0 and <= MaxState } && Ascii.IsValid(state))
        {
            context[State] = state;
        }

        return context;
    }

    /// <summary>The headers of an item, with the context if they have none of their own.</summary>
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
}
