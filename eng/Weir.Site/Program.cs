using Weir.Site.Documents;
using Weir.Site.Figures;
using Weir.Site.Pages;
using Weir.Site.Pictures;

const string usage = "give the folder of the repository, and then either 'pages FOLDER' or 'pictures'.";
if (args is not ([_, "pages", _] or [_, "pictures"]) || !File.Exists(Path.Combine(args[0], SiteBuilder.Index)))
{
    await Console.Error.WriteLineAsync($"site: {usage}");
    return 1;
}

try
{
    if (args[1] == "pages")
    {
        int pages = new SiteBuilder(Path.GetFullPath(args[0])).Write(Path.GetFullPath(args[2]));
        Console.WriteLine($"Wrote {pages} pages. Open {Path.Combine(args[2], "index.html")} in a browser; no server is needed.");
    }
    else
    {
        Directory.CreateDirectory(Path.Combine(args[0], "docs", "pictures"));
        foreach ((string path, string picture) in new[]
        {
            (PeersPicture.Path, PeersPicture.Draw(args[0])),
            (ProjectsPicture.Path, ProjectsPicture.Draw(args[0])),
            (ProgramsTable.Path, ProgramsTable.Draw(args[0])),
        })
        {
            await File.WriteAllTextAsync(Path.Combine(args[0], path), picture);
            Console.WriteLine($"Wrote {path}.");
        }

        foreach ((string path, string text) in new DocumentPages(args[0]).Draw().ToArray())
        {
            await File.WriteAllTextAsync(Path.Combine(args[0], path), text);
            Console.WriteLine($"Wrote {path}.");
        }

        foreach ((string path, string text) in FigurePages.Draw(args[0]).ToArray())
        {
            await File.WriteAllTextAsync(Path.Combine(args[0], path), text);
            Console.WriteLine($"Wrote the figures of {path}.");
        }
    }

    return 0;
}
catch (SiteException e)
{
    await Console.Error.WriteLineAsync($"site: {e.Message}");
    return 1;
}
