namespace Weir.Lab.Report.Page.Figures;

/// <summary>One drawing of a figure.</summary>
/// <param name="Title">What it is, when there are several.</param>
/// <param name="Draw">Draws it in a width.</param>
internal sealed record Panel(string Title, Func<int, PlotFrame> Draw);
