namespace Weir.Lab.Workers;

/// <summary>Failures by the type of what was thrown, in words.</summary>
internal static class FailureWords
{
    private const int MostKinds = 5;

    /// <summary>The kinds with their numbers, the most frequent first.</summary>
    public static string Of(IEnumerable<KeyValuePair<string, long>> kinds)
    {
        KeyValuePair<string, long>[] all =
        [
            .. kinds.GroupBy(static k => k.Key, static k => k.Value).Select(static g => KeyValuePair.Create(g.Key, g.Sum()))
                .OrderByDescending(static k => k.Value).ThenBy(static k => k.Key, StringComparer.Ordinal),
        ];
        long others = all.Skip(MostKinds).Sum(static k => k.Value);
        return string.Join(", ", [
            .. all.Take(MostKinds).Select(static k => FormattableString.Invariant($"{k.Value:N0} {k.Key}")),
            .. others > 0 ? [FormattableString.Invariant($"{others:N0} of other types")] : Array.Empty<string>(),
        ]);
    }
}
