namespace Weir.Resilience;

/// <summary>The result of a call without a result.</summary>
internal readonly struct NoResult;
