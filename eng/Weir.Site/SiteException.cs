namespace Weir.Site;

/// <summary>A page that cannot be made, with a sentence for whoever wrote it.</summary>
public sealed class SiteException(string message) : Exception(message);
