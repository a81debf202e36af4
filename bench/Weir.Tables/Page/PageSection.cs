namespace Weir.Tables.Page;

/// <summary>A section of a page of results.</summary>
/// <param name="Key">What stands in its marks.</param>
/// <param name="Title">Its title.</param>
/// <param name="Text">What stands before the marks; empty for nothing.</param>
/// <param name="Missing">What stands between them as long as it was not measured.</param>
internal sealed record PageSection(string Key, string Title, string Text = "", string Missing = "Not measured yet.");
