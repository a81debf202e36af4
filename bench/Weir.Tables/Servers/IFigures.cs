namespace Weir.Tables.Servers;

/// <summary>What is measured for one page.</summary>
internal interface IFigures
{
    /// <summary>The name of the command.</summary>
    string Name { get; }

    string Description { get; }

    /// <summary>Where the server is.</summary>
    TextOption Server { get; }

    /// <summary>How often each arm is measured, unless it is said.</summary>
    int UsualRounds => 5;

    /// <summary>The options that only these have.</summary>
    IReadOnlyList<TextOption> Options => [];

    /// <summary>The name of the page's file.</summary>
    string Page { get; }

    string Title { get; }

    IReadOnlyList<PageSection> Sections { get; }

    Task<string> MeasureAsync(string section, FigureOrder order, CancellationToken stop);
}
