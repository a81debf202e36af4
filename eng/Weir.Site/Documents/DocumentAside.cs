namespace Weir.Site.Documents;

/// <summary>Lines of a document with nothing to show.</summary>
/// <param name="Lines">Which they are, as <see cref="DocumentLines"/> reads them.</param>
/// <param name="Why">What they have instead.</param>
public sealed record DocumentAside(string Lines, string Why);
