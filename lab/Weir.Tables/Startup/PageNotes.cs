namespace Weir.Tables.Startup;

/// <summary>What was written on a page by hand, and is kept when the page is written anew.</summary>
internal static class PageNotes
{
    private const string Begin = "<!-- notes -->\n";
    private const string End = "<!-- /notes -->\n";

    /// <summary>The notes of a page, between their marks.</summary>
    /// <param name="before">The page as it was.</param>
    public static string Of(string before)
    {
        int begin = before.IndexOf(Begin, StringComparison.Ordinal) + Begin.Length;
        int end = before.IndexOf(End, StringComparison.Ordinal);
        return Begin + (begin >= Begin.Length && end >= begin ? before[begin..end] : "") + End;
    }
}
