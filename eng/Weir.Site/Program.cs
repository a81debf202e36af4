using Weir.Site.Pages;

if (args.Length != 2 || !File.Exists(Path.Combine(args[0], SiteBuilder.Index)))
{
    await Console.Error.WriteLineAsync($"site: give the folder of the repository, which has {SiteBuilder.Index}, and the folder to write to.");
    return 1;
}

try
{
    int pages = new SiteBuilder(Path.GetFullPath(args[0])).Write(Path.GetFullPath(args[1]));
    Console.WriteLine($"Wrote {pages} pages. Open {Path.Combine(args[1], "index.html")} in a browser; no server is needed.");
    return 0;
}
catch (SiteException e)
{
    await Console.Error.WriteLineAsync($"site: {e.Message}");
    return 1;
}
