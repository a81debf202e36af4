
namespace Weir.Site.Figures;

/// <summary>
/// The figures of README and docs that come from the pages of results. Each line of <see cref="Path"/> is a name, <c>=</c> and a reference that
/// <see cref="FigureReader"/> reads.
/// </summary>
public sealed class FigureList
{
    /// <summary>Where they are listed.</summary>
    public const string Path = "docs/results/figures.txt";

    private readonly Dictionary<string, string> _values = [];

    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">A line is none, or the results have no such figure.</exception>
    public FigureList(string root)
    {
        FigureReader reader = new(root);
        foreach (string line in File.ReadLines(System.IO.Path.Combine(root, Path)).Where(static line => line.Length > 0 && line[0] != '#'))
        {
            int end = line.IndexOf('=', StringComparison.Ordinal);
            if (end < 0)
            {
                throw new SiteException($"{Path}: a line must be 'name = page; section; row; column'; it is '{line}'.");
            }

            if (!_values.TryAdd(line[..end].Trim(), reader.Read(line[(end + 1)..])))
            {
                throw new SiteException($"{Path}: there are two figures '{line[..end].Trim()}'.");
            }
        }
    }

    /// <summary>The names of all figures.</summary>
    public IEnumerable<string> Names => _values.Keys;

    /// <summary>What a figure is.</summary>
    /// <exception cref="SiteException">There is none of that name.</exception>
    public string this[string name] => _values.TryGetValue(name, out string? value) ? value : throw new SiteException($"{Path} has no figure '{name}'.");
}
