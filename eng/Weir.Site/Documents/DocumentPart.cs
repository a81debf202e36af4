namespace Weir.Site.Documents;

/// <summary>A part of a document: one table of its page.</summary>
/// <param name="Title">Its heading.</param>
/// <param name="Rows">Its lines.</param>
/// <param name="From">What stands before each reference to the results.</param>
public sealed record DocumentPart(string Title, IReadOnlyList<DocumentRow> Rows, string From = "");
