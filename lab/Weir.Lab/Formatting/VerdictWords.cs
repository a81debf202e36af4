namespace Weir.Lab.Formatting;

/// <summary>Verdicts as they stand in tables and sentences.</summary>
internal static class VerdictWords
{
    private static readonly Dictionary<string, Verdict> Words = Enum.GetValues<Verdict>().ToDictionary(Of);

    /// <summary>The word of a verdict.</summary>
    public static string Of(Verdict verdict) => verdict.ToString().ToUpperInvariant();

    /// <summary>The verdict for a word; <see langword="null"/> for any other text.</summary>
    public static Verdict? Find(string text) => Words.TryGetValue(text, out Verdict verdict) ? verdict : null;
}
