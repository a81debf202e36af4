namespace Weir.Lab.Results;

/// <summary>A value and how sure it is.</summary>
internal sealed record Interval(double Value, double Low, double High);
