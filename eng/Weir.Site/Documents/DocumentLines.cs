using System.Globalization;
using System.Text.RegularExpressions;

namespace Weir.Site.Documents;

/// <summary>The numbers of lines of a document, such as <c>18-19, 26</c>.</summary>
public static partial class DocumentLines
{
    /// <summary>The numbers that a text names.</summary>
    /// <exception cref="SiteException">It names none, or one twice, or they do not rise.</exception>
    public static IEnumerable<int> Of(string text)
    {
        int last = 0;
        foreach (string part in text.Split(", "))
        {
            Match range = Range().Match(part);
            int from = range.Success ? Number(range.Groups[1]) : 0;
            int to = range.Groups[2].Success ? Number(range.Groups[2]) : from;
            if (from <= last || to < from)
            {
                throw new SiteException($"Lines must be rising numbers and ranges, such as '18-19, 26'; they are '{text}'.");
            }

            for (int line = from; line <= to; line++)
            {
                yield return line;
            }

            last = to;
        }
    }

    private static int Number(Group group) => int.Parse(group.ValueSpan, NumberStyles.None, CultureInfo.InvariantCulture);

    [GeneratedRegex(@"^(\d{1,6})(?:-(\d{1,6}))?\z")]
    private static partial Regex Range();
}
