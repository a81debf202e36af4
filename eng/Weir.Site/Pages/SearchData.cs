using System.Text.Json;

namespace Weir.Site.Pages;

/// <summary>
/// What the search looks through, as a script: a page that is opened from a folder may load a script beside it, and nothing else.
/// </summary>
internal static class SearchData
{
    // A table of hundreds of figures would be most of the data, and nobody looks for a figure.
    private const int MostText = 4_000;

    public static string Of(IEnumerable<SitePage> pages) =>
        $"window.weirSearch = {JsonSerializer.Serialize(pages.SelectMany(static page => page.Sections.Select(section => Entry(page, section))))};\n";

    private static string[] Entry(SitePage page, SitePage.Section section) =>
    [
        section.Anchor.Length > 0 ? $"{page.Address}#{section.Anchor}" : page.Address,
        page.Title,
        section.Heading,
        section.Text.Length > MostText ? section.Text[..MostText] : section.Text,
    ];
}
