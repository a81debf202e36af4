using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace Weir.Site.Pictures;

/// <summary>
/// The projects of src and lab, each above those that it references, from the project files. A reference that follows from others is left out: who references
/// Weir has Weir.Core too.
/// </summary>
public static partial class ProjectsPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/projects.svg";

    private const int Row = 92;
    private const int BoxHeight = 34;
    private const int Gap = 22;
    private const int Margin = 16;
    private const double Letter = 7.6;

    private static readonly string[] Folders = ["src", "lab", "explore", "bench"];

    /// <param name="root">The folder of the repository.</param>
    public static string Draw(string root)
    {
        Dictionary<string, (string Folder, string[] Uses)> projects = Read(root);
        Dictionary<string, int> depths = [];
        foreach (string project in projects.Keys)
        {
            DepthOf(project);
        }

        string[][] rows = [.. Enumerable.Range(0, depths.Values.Max() + 1)
            .Select(depth => projects.Keys.Where(p => depths[p] == depth).Order(StringComparer.Ordinal).ToArray())];
        double width = rows.Max(WidthOf) + (2 * Margin);
        Dictionary<string, double> centres = Place(rows, projects, width);
        StringBuilder body = new();
        foreach ((string project, (_, string[] uses)) in projects.OrderBy(static p => p.Key, StringComparer.Ordinal))
        {
            foreach (string used in uses.Where(used => !uses.Any(other => other != used && Reaches(projects, other, used))))
            {
                (double from, double to) = (centres[project], centres[used]);
                (double top, double bottom) = (YOf(project) + BoxHeight, YOf(used));
                double middle = (top + bottom) / 2;
                body.Append(CultureInfo.InvariantCulture, $"<path d=\"M{from:F0} {top:F0} C{from:F0} {middle:F0} ");
                body.Append(CultureInfo.InvariantCulture, $"{to:F0} {middle:F0} {to:F0} {bottom - 5:F0}\" marker-end=\"url(#to)\"/>\n");
            }
        }

        foreach ((string project, (string folder, _)) in projects.OrderBy(static p => p.Key, StringComparer.Ordinal))
        {
            double box = BoxOf(project);
            double left = centres[project] - (box / 2);
            body.Append(CultureInfo.InvariantCulture, $"<rect class=\"{folder}\" x=\"{left:F0}\" y=\"{YOf(project):F0}\" ");
            body.Append(CultureInfo.InvariantCulture, $"width=\"{box:F0}\" height=\"{BoxHeight}\" rx=\"5\"/>\n");
            body.Append(CultureInfo.InvariantCulture, $"<text x=\"{centres[project]:F0}\" y=\"{YOf(project) + 22:F0}\">{project}</text>\n");
        }

        return Frame(body.ToString(), width, (rows.Length * Row) - (Row - BoxHeight) + (2 * Margin));

        int DepthOf(string project)
        {
            if (!depths.TryGetValue(project, out int depth))
            {
                depth = projects[project].Uses.Select(used => DepthOf(used) + 1).DefaultIfEmpty(0).Max();
                depths[project] = depth;
            }

            return depth;
        }

        double YOf(string project) => Margin + ((rows.Length - 1 - depths[project]) * Row);
    }

    private static Dictionary<string, (string Folder, string[] Uses)> Read(string root) => Folders
        .SelectMany(folder => Directory.EnumerateFiles(System.IO.Path.Combine(root, folder), "*.csproj", SearchOption.AllDirectories)
            .Select(file => (Folder: folder, File: file)))
        .Order()
        .ToDictionary(
            static project => System.IO.Path.GetFileNameWithoutExtension(project.File),
            static project => (
                project.Folder,
                Reference().Matches(File.ReadAllText(project.File)).Select(static m => m.Groups[1].Value).Order(StringComparer.Ordinal).ToArray()));

    /// <summary>Each row in the order of what its projects use, so that few lines cross, and spread over the width.</summary>
    private static Dictionary<string, double> Place(string[][] rows, Dictionary<string, (string Folder, string[] Uses)> projects, double width)
    {
        Dictionary<string, double> centres = [];
        foreach (string[] row in rows)
        {
            string[] ordered = [.. row
                .OrderBy(p => projects[p].Uses.Select(used => centres[used]).DefaultIfEmpty(0).Average())
                .ThenBy(static p => p, StringComparer.Ordinal)];
            double space = (width - ordered.Sum(BoxOf)) / (ordered.Length + 1);
            double x = space;
            foreach (string project in ordered)
            {
                centres[project] = x + (BoxOf(project) / 2);
                x += BoxOf(project) + space;
            }
        }

        return centres;
    }

    private static bool Reaches(Dictionary<string, (string Folder, string[] Uses)> projects, string from, string to) =>
        projects[from].Uses.Any(used => used == to || Reaches(projects, used, to));

    private static double WidthOf(string[] row) => row.Sum(BoxOf) + (Gap * (row.Length + 1));

    private static double BoxOf(string project) => Math.Ceiling(project.Length * Letter) + 20;

    private static string Frame(string body, double width, double height) => string.Create(CultureInfo.InvariantCulture, $$"""
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width:F0}} {{height:F0}}" width="{{width:F0}}" height="{{height:F0}}"
         role="img" aria-labelledby="t">
        <title id="t">The projects, each above those that it references.</title>
        <defs>
        <marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker>
        </defs>
        <style>
        text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; text-anchor: middle; fill: #1c2430; }
        .back { fill: #ffffff; }
        rect.src { fill: #e6effa; stroke: #0b5cad; }
        rect.lab { fill: #fbeee4; stroke: #c2571a; }
        rect.explore { fill: #e7f5ea; stroke: #2c7a3f; }
        rect.bench { fill: #eef0f2; stroke: #66707c; }
        path { fill: none; stroke: #8894a3; stroke-width: 1.3; }
        .tip { fill: #8894a3; stroke: none; }
        @media (prefers-color-scheme: dark) {
          text { fill: #dfe6ee; }
          .back { fill: #12161c; }
          rect.src { fill: #1d2f45; stroke: #79b4f2; }
          rect.lab { fill: #3a2a1e; stroke: #f0a36b; }
          rect.explore { fill: #1c3323; stroke: #7fce93; }
          rect.bench { fill: #23282e; stroke: #9aa5b1; }
        }
        </style>
        <rect class="back" width="{{width:F0}}" height="{{height:F0}}"/>
        {{body}}</svg>

        """).ReplaceLineEndings("\n");

    // A project that only builds has more to it than its path, and is none that is referenced.
    [GeneratedRegex("<ProjectReference Include=\"[^\"]*[/\\\\]([^/\\\\\"]+)\\.csproj\" ?/>")]
    private static partial Regex Reference();
}
