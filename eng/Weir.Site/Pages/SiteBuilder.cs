using System.Reflection;

namespace Weir.Site.Pages;

/// <summary>Makes a folder of HTML pages from the Markdown of the repository. The pages need no server and load nothing from a network.</summary>
/// <param name="root">The folder of the repository.</param>
public sealed class SiteBuilder(string root)
{
    /// <summary>The page that says what to read when. Its list is the menu of every page.</summary>
    public const string Index = "docs/README.md";

    private static readonly string[] Single = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
    private static readonly string[] Folders = ["docs", "samples"];
    private static readonly string[] Styles = ["site.css", "site.js"];

    /// <summary>Whether a file of the repository is copied as it is.</summary>
    public static bool IsAsset(string path) => Path.GetExtension(path) is ".svg" or ".png" && path.StartsWith("docs/", StringComparison.Ordinal);

    /// <summary>Writes the site. What the folder has already stays, unless a page or a picture takes its place.</summary>
    /// <returns>How many pages there are.</returns>
    /// <exception cref="SiteException">A page cannot be made; nothing has been written.</exception>
    public int Write(string folder)
    {
        string[] files = [.. Files()];
        HashSet<string> sources = [.. files.Where(static f => f.EndsWith(".md", StringComparison.Ordinal))];
        PageReader reader = new(root, sources);
        SitePage[] pages = [.. sources.Order(StringComparer.Ordinal).Select(reader.Read)];
        SiteMenu menu = new(pages.Single(static p => p.Source == Index));
        foreach (SitePage page in pages)
        {
            Put(page.Address, PageFrame.Around(page, menu));
        }

        Put("search-data.js", SearchData.Of(pages));
        foreach (string style in Styles)
        {
            using StreamReader text = new(Assembly.GetExecutingAssembly().GetManifestResourceStream(style)!);
            Put(style, text.ReadToEnd());
        }

        foreach (string picture in files.Where(IsAsset))
        {
            File.Copy(Path.Combine(root, picture), Made(picture), overwrite: true);
        }

        return pages.Length;

        void Put(string path, string text) => File.WriteAllText(Made(path), text);

        string Made(string path)
        {
            string full = Path.Combine(folder, path);
            Directory.CreateDirectory(Path.GetDirectoryName(full)!);
            return full;
        }
    }

    private IEnumerable<string> Files() =>
        Folders.SelectMany(folder => Directory.EnumerateFiles(Path.Combine(root, folder), "*", SearchOption.AllDirectories))
            .Select(f => Path.GetRelativePath(root, f).Replace('\\', '/'))
            .Where(static f => f.EndsWith(".md", StringComparison.Ordinal) || IsAsset(f))
            .Concat(Single.Where(f => File.Exists(Path.Combine(root, f))));
}
