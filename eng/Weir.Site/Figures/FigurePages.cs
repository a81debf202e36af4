using System.Text.RegularExpressions;

namespace Weir.Site.Figures;

/// <summary>Writes the figures into README and docs: each stands between the marks <c>&lt;!--=name--&gt;</c> and <c>&lt;!--=--&gt;</c>.</summary>
public static partial class FigurePages
{
    /// <summary>The pages that have figures, as they have to be.</summary>
    /// <param name="root">The folder of the repository.</param>
    public static IEnumerable<(string Path, string Text)> Draw(string root)
    {
        FigureList figures = new(root);
        foreach (string path in Pages(root))
        {
            string text = File.ReadAllText(Path.Combine(root, path));
            if (Marked().IsMatch(text))
            {
                yield return (path, Marked().Replace(text, mark => $"<!--={mark.Groups[1].Value}-->{figures[mark.Groups[1].Value]}<!--=-->"));
            }
        }
    }

    /// <summary>The names of the figures of a page.</summary>
    public static IEnumerable<string> NamesIn(string text) => Marked().Matches(text).Select(static mark => mark.Groups[1].Value);

    /// <summary>A text without the figures that are written here.</summary>
    public static string Without(string text) => Marked().Replace(text, "");

    // The pages of results have the figures themselves.
    private static IEnumerable<string> Pages(string root) =>
        Directory.EnumerateFiles(Path.Combine(root, "docs"), "*.md", SearchOption.AllDirectories)
            .Append(Path.Combine(root, "README.md"))
            .Append(Path.Combine(root, "ARCHITECTURE.md"))
            .Select(path => Path.GetRelativePath(root, path).Replace('\\', '/'))
            .Where(static path => !path.StartsWith("docs/results/", StringComparison.Ordinal))
            .Order(StringComparer.Ordinal);

    [GeneratedRegex("<!--=([a-z0-9-]+)-->.*?<!--=-->")]
    private static partial Regex Marked();
}
