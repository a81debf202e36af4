namespace Weir.Tables.Commands;

/// <summary>A section of a page of results that is one run of <c>weir</c>.</summary>
/// <param name="Name">Its name for <c>--only</c>.</param>
/// <param name="Title">Its heading.</param>
/// <param name="Text">What it shows.</param>
/// <param name="Arguments">The arguments of the command, without how often it measures.</param>
internal sealed record CommandSection(string Name, string Title, string Text, string Arguments);
