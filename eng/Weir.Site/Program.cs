using Weir.Site;
using Weir.Site.Documents;
using Weir.Site.Figures;
using Weir.Site.Pictures;

if (args is not [_, "pictures"] || !File.Exists(Path.Combine(args[0], "docs", "README.md")))
{
    await Console.Error.WriteLineAsync("site: give the folder of the repository, and then 'pictures'.");
    return 1;
}

try
{
    Directory.CreateDirectory(Path.Combine(args[0], "docs", "pictures"));
    foreach ((string path, string picture) in new[]
    {
        (PeersPicture.Path, PeersPicture.Draw(args[0])),
        (ProjectsPicture.Path, ProjectsPicture.Draw(args[0])),
        (RunPicture.Path, RunPicture.Draw(args[0])),
        (OverloadPicture.Path, OverloadPicture.Draw(args[0])),
        (JobsPicture.Path, JobsPicture.Draw(args[0])),
        (BarPicture.Path, BarPicture.Draw()),
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

    return 0;
}
catch (SiteException e)
{
    await Console.Error.WriteLineAsync($"site: {e.Message}");
    return 1;
}
