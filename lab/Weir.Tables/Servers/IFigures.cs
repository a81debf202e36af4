using Weir.Tables.Servers.Turns;

namespace Weir.Tables.Servers;

/// <summary>What is measured for one page.</summary>
internal interface IFigures
{
    /// <summary>The name of the command.</summary>
    string Name { get; }

    string Description { get; }

    /// <summary>The name of the page's file.</summary>
    string Page { get; }

    string Title { get; }

    IReadOnlyList<(string Key, string Title, string Text)> Sections { get; }

    /// <summary>Measures a section.</summary>
    /// <returns>Its text.</returns>
    Task<string> MeasureAsync(string section, FigureDatabase database, int rounds, TextWriter progress, CancellationToken stop);
}
