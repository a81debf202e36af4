using System.Globalization;
using System.Net;
using System.Text;

namespace Weir.Site.Pictures;

/// <summary>
/// A run of a command as a terminal shows it: from a text whose first line, and those that a backslash joins to it, is the command, and whose others are what
/// it printed.
/// </summary>
public static class RunPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/run.svg";

    /// <summary>What it is drawn from: the output of a real run, as it was.</summary>
    public const string Recording = "docs/pictures/run.txt";

    private const int Line = 19;
    private const int Margin = 20;
    private const double Letter = 8.43;

    /// <param name="root">The folder of the repository.</param>
    public static string Draw(string root) => Of(File.ReadAllText(System.IO.Path.Combine(root, Recording)).ReplaceLineEndings("\n"));

    /// <param name="recording">The command and its output.</param>
    public static string Of(string recording)
    {
        string[] lines = recording.TrimEnd('\n').Split('\n');
        double width = (lines.Max(static line => line.Length) * Letter) + (2 * Margin);
        int height = (lines.Length * Line) + (2 * Margin);
        StringBuilder body = new();
        bool isDoubt = false;
        bool isCommand = true;
        for (int i = 0; i < lines.Length; i++)
        {
            if (lines[i].Length > 0)
            {
                // A doubt goes on in the lines that begin as the middle of a sentence.
                isDoubt = lines[i][0] == '!' || (isDoubt && char.IsLower(lines[i][0]));
                string kind = isCommand ? "command" : isDoubt ? "doubt" : "out";
                body.Append(CultureInfo.InvariantCulture, $"<text class=\"{kind}\" x=\"{Margin}\" y=\"{Margin + (i * Line) + 14}\">");
                body.Append(WebUtility.HtmlEncode(lines[i])).Append("</text>\n");
            }

            isCommand &= lines[i].EndsWith('\\');
        }

        return $$"""
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width.ToString("F0", CultureInfo.InvariantCulture)}} {{height}}" role="img" aria-labelledby="t">
            <title id="t">{{WebUtility.HtmlEncode(lines[0].TrimEnd('\\', ' '))}}, and what it printed</title>
            <style>
            text { font: 14px "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #dfe6ee; }
            .command { fill: #79b4f2; }
            .doubt { fill: #f0a36b; }
            </style>
            <rect width="100%" height="100%" rx="8" fill="#12161c"/>
            {{body}}</svg>

            """.ReplaceLineEndings("\n");
    }
}
