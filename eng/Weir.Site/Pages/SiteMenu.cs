using System.Text.RegularExpressions;

namespace Weir.Site.Pages;

/// <summary>The list of the index, as every page shows it at its side.</summary>
public sealed partial class SiteMenu
{
    private readonly string _folder;
    private readonly string _list;

    /// <param name="index">The page whose groups and lists become the menu.</param>
    public SiteMenu(SitePage index)
    {
        _folder = Path.GetDirectoryName(index.Address)!.Replace('\\', '/');
        _list = string.Concat(Group().Matches(index.Body).Select(static m => $"<h2>{m.Groups[1].Value}</h2>\n<ul>{Links(m.Groups[2].Value)}</ul>\n"));
    }

    /// <summary>The menu with links that are right for a page.</summary>
    public string For(SitePage page) => Link().Replace(
        _list,
        link =>
        {
            string target = Path.GetRelativePath("/site", Path.Combine("/site", _folder, link.Groups[1].Value)).Replace('\\', '/');
            string here = target.Split('#')[0] == page.Address && !target.Contains('#', StringComparison.Ordinal) ? " aria-current=\"page\"" : "";
            return $"<a href=\"{page.ToTop}{target}\"{here}>";
        });

    private static string Links(string group) => string.Concat(Entry().Matches(group).Select(static m => $"<li>{m.Value}</li>"));

    [GeneratedRegex("<h2[^>]*>(.*?)</h2>(.*?)(?=<h2|$)", RegexOptions.Singleline)]
    private static partial Regex Group();

    [GeneratedRegex("<a href=\"[^\"]*\">.*?</a>", RegexOptions.Singleline)]
    private static partial Regex Entry();

    [GeneratedRegex("<a href=\"([^\"]*)\">")]
    private static partial Regex Link();
}
