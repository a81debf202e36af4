using System.Net;

namespace Weir.Site.Pages;

/// <summary>What stands around the text of every page: the search, the menu, and the headings of the page.</summary>
internal static class PageFrame
{
    // A page with more headings than this lists those of level 2 alone.
    private const int MostHeadings = 40;

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
        {WithContents(page)}
        </main>
        </div>
        </body>
        </html>

        """;

    private static string Title(SitePage page) => page.Title == "Weir" ? "Weir" : $"{page.Title} - Weir";

    // Below the first heading, where narrow screens show it folded; wide ones have it at their side.
    private static string WithContents(SitePage page)
    {
        SitePage.Section[] all = [.. page.Sections.Where(static s => s.Anchor.Length > 0 && s.Level <= 3)];
        SitePage.Section[] shown = all.Length <= MostHeadings ? all : [.. all.Where(static s => s.Level <= 2)];
        if (shown.Length < 2)
        {
            return page.Body;
        }

        string links = string.Concat(shown.Select(static s =>
            $"<li class=\"level{s.Level}\"><a href=\"#{s.Anchor}\">{WebUtility.HtmlEncode(s.Heading)}</a></li>"));
        int below = page.Body.IndexOf("</h1>", StringComparison.Ordinal) + "</h1>".Length;
        return $"""
            {page.Body[..below]}
            <nav class="contents" aria-label="On this page">
            <details><summary>On this page</summary>
            <ul>{links}</ul>
            </details>
            </nav>
            {page.Body[below..]}
            """;
    }
}
