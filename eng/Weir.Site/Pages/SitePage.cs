namespace Weir.Site.Pages;

/// <summary>A page of the site.</summary>
/// <param name="Source">The path of its Markdown in the repository, with slashes.</param>
/// <param name="Title">The text of its first heading.</param>
/// <param name="Body">The HTML between the frame's.</param>
/// <param name="Sections">Its headings, each with the text up to the next one.</param>
public sealed record SitePage(string Source, string Title, string Body, IReadOnlyList<SitePage.Section> Sections)
{
    /// <summary>The path of the written page, relative to the site.</summary>
    public string Address => AddressOf(Source);

    /// <summary>How the page gets to the top of the site: as many steps up as it has folders.</summary>
    public string ToTop => string.Concat(Enumerable.Repeat("../", Address.Count(static c => c == '/')));

    /// <summary>The path of the page that is written for a file of the repository. A folder's README is the folder's index.</summary>
    public static string AddressOf(string source)
    {
        string folder = Path.GetDirectoryName(source)!.Replace('\\', '/');
        string name = Path.GetFileNameWithoutExtension(source);
        return $"{(folder.Length == 0 ? "" : folder + "/")}{(name == "README" ? "index" : name)}.html";
    }

    /// <summary>A heading and what stands below it.</summary>
    /// <param name="Anchor">Where it is in its page; empty for what stands before the second heading.</param>
    /// <param name="Level">1 to 6.</param>
    /// <param name="Heading">Its text.</param>
    /// <param name="Text">The words below it, without markup.</param>
    public sealed record Section(string Anchor, int Level, string Heading, string Text);
}
