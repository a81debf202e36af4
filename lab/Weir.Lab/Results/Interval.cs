namespace Weir.Lab.Results;

/// <summary>A value and how sure it is.</summary>
/// <param name="Value">The value.</param>
/// <param name="Low">The lower end of its interval.</param>
/// <param name="High">The upper end.</param>
public sealed record Interval(double Value, double Low, double High);
