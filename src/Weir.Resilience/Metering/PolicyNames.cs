namespace Weir.Resilience;

/// <summary>The attribute by which listeners tell policies apart.</summary>
/// <remarks>
/// The number of names is bounded, because each is a time series that listeners keep. There is none for the keys of policies by key, which are as many as the
/// users' data.
/// </remarks>
internal static class PolicyNames
{
    private const int Most = 1000;

    private static readonly KeyValuePair<string, object?> Overflow = new("otel.metric.overflow", true);
    private static readonly Lock Lock = new();
    private static readonly HashSet<string> Known = new(StringComparer.Ordinal);

    /// <summary>The attribute of a name; null if there is no name.</summary>
    public static KeyValuePair<string, object?>? TagOf(string? name)
    {
        if (name is null)
        {
            return null;
        }

        lock (Lock)
        {
            if (!Known.Contains(name) && (Known.Count >= Most || !Known.Add(name)))
            {
                return Overflow;
            }
        }

        return new("weir.policy.name", name);
    }
}
