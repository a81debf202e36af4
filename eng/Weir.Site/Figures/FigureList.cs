using System.Globalization;
using Weir.Site.Pages;

namespace Weir.Site.Figures;

/// <summary>
/// The figures of README and docs that come from the pages of results. Each line of <see cref="Path"/> is <c>name = page; section; row; column</c>, with as
/// many parts for the row as tell it from others. A time or bytes may be divided: <c>time a run / 1000</c>.
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
        Dictionary<string, string> pages = [];
        foreach (string line in File.ReadLines(System.IO.Path.Combine(root, Path)))
        {
            if (line.Length == 0 || line[0] == '#')
            {
                continue;
            }

            int end = line.IndexOf('=', StringComparison.Ordinal);
            string[] parts = end < 0 ? [] : [.. line[(end + 1)..].Split(';').Select(static part => part.Trim())];
            if (parts.Length < 4)
            {
                throw new SiteException($"{Path}: a line must be 'name = page; section; row; column'; it is '{line}'.");
            }

            string[] column = [.. parts[^1].Split(" / ")];
            ResultCell cell = new(parts[0], parts[1], parts[2..^1], column[0]);
            if (!pages.TryGetValue(cell.Page, out string? page))
            {
                page = File.ReadAllText(System.IO.Path.Combine(root, "docs", "results", cell.Page + ".md")).ReplaceLineEndings("\n");
                pages.Add(cell.Page, page);
            }

            decimal divided = column.Length == 1 ? 1 : decimal.Parse(column[1], CultureInfo.InvariantCulture);
            if (!_values.TryAdd(line[..end].Trim(), FigureValue.Of(cell.Read(page), cell.Column, divided)))
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
