using System.Net;

namespace Weir.Site.Pages;

/// <summary>What stands around the text of every page: the search, the menu, and the headings of the page.</summary>
internal static class PageFrame
{
    // Deeper headings would make the list longer than the page is worth.
    private const int Deepest = 2;

    public static string Around(SitePage page, SiteMenu menu) => $"""
        <!DOCTYPE html>
        <html lang="en" data-top="{page.ToTop}">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>{WebUtility.HtmlEncode(Title(page))}</title>
        <link rel="stylesheet" href="{page.ToTop}site.css">
        <script src="{page.ToTop}site.js" defer></script>
        </head>
        <body>
        <header>
        <a class="name" href="{page.ToTop}index.html">Weir</a>
        <a href="{page.ToTop}{SitePage.AddressOf(SiteBuilder.Index)}">Documentation</a>
        <form id="search" role="search" autocomplete="off">
        <input id="words" name="q" type="search" placeholder="Search (press /)" aria-label="Search the documentation" aria-controls="found">
        <div id="found" role="listbox" hidden></div>
        </form>
        </header>
        <div class="columns">
        <nav class="menu" aria-label="Pages">
        <details><summary>Pages</summary>
        {menu.For(page)}
        </details>
        </nav>
        <main>
        {page.Body}
        </main>
        <aside aria-label="On this page">
        {Contents(page)}
        </aside>
        </div>
        </body>
        </html>

        """;

    private static string Title(SitePage page) => page.Title == "Weir" ? "Weir" : $"{page.Title} - Weir";

    private static string Contents(SitePage page)
    {
        SitePage.Section[] shown = [.. page.Sections.Where(static s => s.Anchor.Length > 0 && s.Level <= Deepest)];
        string links = string.Concat(shown.Select(static s => $"<li><a href=\"#{s.Anchor}\">{WebUtility.HtmlEncode(s.Heading)}</a></li>"));
        return shown.Length < 2 ? "" : $"<h2>On this page</h2>\n<ul>{links}</ul>";
    }
}
