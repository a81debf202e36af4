namespace Weir.Explore.Searching;

/// <summary>A choice that a schedule had before was not there, or it ended in another way.</summary>
internal sealed class DivergedException : Exception;
