namespace Weir.Lab.Report.Page.Figures;

/// <summary>One section of the page that is drawn.</summary>
/// <param name="Id">The name of the section, for links.</param>
/// <param name="Title">The heading.</param>
/// <param name="Caption">How to read it.</param>
/// <param name="Legend">The series: their number, their name, and whether they are dashed.</param>
/// <param name="Panels">The drawings, one below the other.</param>
/// <param name="Data">The figures as a table.</param>
internal sealed record Figure(
    string Id,
    string Title,
    string Caption,
    IReadOnlyList<(int Series, string Name, bool Dashed)> Legend,
    IReadOnlyList<Panel> Panels,
    Table Data);

/// <summary>One drawing of a figure.</summary>
/// <param name="Title">What it is, when there are several.</param>
/// <param name="Draw">Draws it in a width.</param>
internal sealed record Panel(string Title, Func<int, PlotFrame> Draw);
