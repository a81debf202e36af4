using System.Text.RegularExpressions;

namespace Weir.Cli.Kit.Pages;

/// <summary>The parts of a page that stand between marks, and are kept when the page is written anew.</summary>
internal static class PageBlocks
{
    /// <summary>What was measured.</summary>
    public const string Measured = "measured";

    /// <summary>What was written by hand.</summary>
    public const string Notes = "notes";

    /// <summary>The texts between marks of a kind, by their keys.</summary>
    public static Dictionary<string, string> Read(string page, string mark) => Regex
        .Matches(page.ReplaceLineEndings("\n"), $@"<!-- {mark} (?<key>\w+) -->\n(?<text>.*?)<!-- /{mark} -->", RegexOptions.Singleline)
        .ToDictionary(static match => match.Groups["key"].Value, static match => match.Groups["text"].Value.Trim('\n'));

    /// <summary>Writes a text between its marks.</summary>
    public static void Append(StringBuilder page, string mark, string key, string text)
    {
        page.Append($"<!-- {mark} {key} -->\n");
        page.Append(text.Length == 0 ? "" : $"{text}\n");
        page.Append($"<!-- /{mark} -->\n");
    }
}
