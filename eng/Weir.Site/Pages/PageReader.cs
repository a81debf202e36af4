using System.Text;
using Markdig;
using Markdig.Extensions.AutoIdentifiers;
using Markdig.Extensions.Tables;
using Markdig.Renderers;
using Markdig.Renderers.Html;
using Markdig.Syntax;
using Markdig.Syntax.Inlines;

namespace Weir.Site.Pages;

/// <summary>Makes a page of a Markdown file: its HTML, whose links lead to other pages of the site, and the words that the search looks through.</summary>
/// <param name="root">The folder of the repository.</param>
/// <param name="sources">The files that become pages.</param>
internal sealed class PageReader(string root, IReadOnlySet<string> sources)
{
    private static readonly MarkdownPipeline Pipeline = new MarkdownPipelineBuilder()
        .UsePipeTables()
        .UseAutoIdentifiers(AutoIdentifierOptions.GitHub)
        .Build();

    /// <exception cref="SiteException">The page has no heading, or a link that leads nowhere.</exception>
    public SitePage Read(string source)
    {
        MarkdownDocument document = Markdown.Parse(File.ReadAllText(Path.Combine(root, source)), Pipeline);
        foreach (LinkInline link in document.Descendants<LinkInline>())
        {
            link.Url = Target(source, link.Url ?? "");
        }

        foreach (Table table in document.Descendants<Table>())
        {
            table.GetAttributes().AddClass("data");
        }

        StringBuilder body = new();
        using StringWriter writer = new(body) { NewLine = "\n" };
        HtmlRenderer html = new(writer);
        Pipeline.Setup(html);
        html.ObjectRenderers.ReplaceOrAdd<CodeBlockRenderer>(new CodeRenderer());
        html.Render(document);
        List<SitePage.Section> sections = Sections(document);
        return sections.Count > 0 && sections[0].Level == 1
            ? new SitePage(source, sections[0].Heading, body.ToString(), sections)
            : throw new SiteException($"{source} must begin with a heading of level 1.");
    }

    /// <summary>Where a link of a page leads on the site.</summary>
    private string Target(string source, string url)
    {
        if (url.StartsWith('#') || url.Contains("://", StringComparison.Ordinal) || url.StartsWith("mailto:", StringComparison.Ordinal))
        {
            return url;
        }

        string[] parts = url.Split('#', 2);
        string folder = Path.GetDirectoryName(source)!;
        string target = Path.GetRelativePath(root, Path.GetFullPath(Path.Combine(root, folder, parts[0]))).Replace('\\', '/');
        if (!sources.Contains(target))
        {
            return SiteBuilder.IsAsset(target) && File.Exists(Path.Combine(root, target))
                ? url
                : throw new SiteException($"The link {url} of {source} leads to no page of the site.");
        }

        string from = Path.GetDirectoryName(SitePage.AddressOf(source))!;
        string address = Path.GetRelativePath(Path.Combine(root, from), Path.Combine(root, SitePage.AddressOf(target))).Replace('\\', '/');
        return parts.Length > 1 ? $"{address}#{parts[1]}" : address;
    }

    private static List<SitePage.Section> Sections(MarkdownDocument document)
    {
        List<SitePage.Section> sections = [];
        StringBuilder text = new();
        HeadingBlock? open = null;
        foreach (Block block in document)
        {
            if (block is HeadingBlock heading)
            {
                Close();
                open = heading;
            }
            else
            {
                AppendText(text, block);
            }
        }

        Close();
        return sections;

        void Close()
        {
            if (open is not null)
            {
                StringBuilder title = new();
                AppendText(title, open);
                sections.Add(new(sections.Count == 0 ? "" : open.GetAttributes().Id ?? "", open.Level, title.ToString().Trim(), text.ToString().Trim()));
            }

            text.Clear();
        }
    }

    private static void AppendText(StringBuilder text, MarkdownObject markdown)
    {
        switch (markdown)
        {
            case LeafBlock { Inline: { } inline }:
                AppendText(text, inline);
                text.Append(' ');
                break;
            case CodeBlock code:
                text.Append(code.Lines.ToString()).Append(' ');
                break;
            case ContainerBlock blocks:
                foreach (Block block in blocks)
                {
                    AppendText(text, block);
                }

                break;
            case LiteralInline literal:
                text.Append(literal.Content.AsSpan());
                break;
            case CodeInline code:
                text.Append(code.Content);
                break;
            case LineBreakInline:
                text.Append(' ');
                break;
            case ContainerInline inlines:
                foreach (Inline inline in inlines)
                {
                    AppendText(text, inline);
                }

                break;
            default:
                // HTML and comments have no words to find.
                break;
        }
    }
}
