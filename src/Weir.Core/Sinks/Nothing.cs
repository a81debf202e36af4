namespace Weir.Core.Sinks;

/// <summary>The result of a call that has none.</summary>
internal readonly struct Nothing;
