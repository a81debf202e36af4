using System.Text;

namespace Weir.PostgreSql;

/// <summary>Elements of arrays and fields of composite values, which have a text of their own inside that of the whole.</summary>
internal static class QuotedText
{
    /// <summary>Reads the text that begins at a place, and moves to the delimiter or end behind it.</summary>
    /// <param name="text">The whole.</param>
    /// <param name="at">The place.</param>
    /// <param name="delimiter">What is between two of them.</param>
    /// <param name="end">What is behind the last.</param>
    /// <param name="nullText">How null is written, which has no quotes.</param>
    public static string? Read(string text, ref int at, char delimiter, char end, string nullText)
    {
        int start = at;
        if (text[at] != '"')
        {
            at = start + text.AsSpan(start).IndexOfAny(delimiter, end);
            string plain = text[start..at];
            return plain == nullText ? null : plain;
        }

        // A quote is doubled in a composite value, and behind a backslash in an array.
        var unquoted = new StringBuilder();
        for (at++; text[at] != '"' || text[at + 1] == '"'; at++)
        {
            at += text[at] is '\\' or '"' ? 1 : 0;
            unquoted.Append(text[at]);
        }

        at++;
        return unquoted.ToString();
    }
}
