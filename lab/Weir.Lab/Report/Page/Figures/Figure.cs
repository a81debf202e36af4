namespace Weir.Lab.Report.Page.Figures;

/// <summary>One section of the page that is drawn.</summary>
/// <param name="Id">The name of the section, for links.</param>
/// <param name="Title">The heading.</param>
/// <param name="Caption">How to read it.</param>
/// <param name="Legend">The series: their number, their name, and whether they are dashed.</param>
/// <param name="Panels">The drawings, one below the other.</param>
/// <param name="Data">The same figures as a table.</param>
internal sealed record Figure(
    string Id,
    string Title,
    string Caption,
    IReadOnlyList<(int Series, string Name, bool Dashed)> Legend,
    IReadOnlyList<Panel> Panels,
    Table Data);
