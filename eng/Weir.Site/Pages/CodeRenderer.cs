using Markdig.Renderers;
using Markdig.Renderers.Html;
using Markdig.Syntax;

namespace Weir.Site.Pages;

/// <summary>Writes blocks of code in colours. Of the signatures of a member, which are in blocks of <c>cs</c>, all but the first are folded away.</summary>
internal sealed class CodeRenderer : HtmlObjectRenderer<CodeBlock>
{
    protected override void Write(HtmlRenderer renderer, CodeBlock obj)
    {
        string? language = (obj as FencedCodeBlock)?.Info;
        string code = obj.Lines.ToString();
        renderer.EnsureLine();
        if (language == "cs" && Signatures(code) is [string first, .. { Length: > 0 } others])
        {
            Block(renderer, first, language);
            renderer.Write($"<details class=\"overloads\"><summary>{others.Length} more</summary>\n");
            Block(renderer, string.Join('\n', others), language);
            renderer.Write("</details>\n");
        }
        else
        {
            Block(renderer, code, language);
        }
    }

    private static void Block(HtmlRenderer renderer, string code, string? language) =>
        renderer.Write($"<pre><code{(language is null ? "" : $" class=\"language-{language}\"")}>{CodeColours.Html(code, language)}\n</code></pre>\n");

    // A signature goes on in lines that are indented or begin with a brace, and below a line of its attributes.
    private static string[] Signatures(string code)
    {
        List<string> signatures = [];
        string before = "";
        foreach (string line in code.Split('\n'))
        {
            if (signatures.Count > 0 && (line is "" or [' ' or '{' or '}', ..] || before.StartsWith('[')))
            {
                signatures[^1] += "\n" + line;
            }
            else
            {
                signatures.Add(line);
            }

            before = line;
        }

        return [.. signatures];
    }
}
