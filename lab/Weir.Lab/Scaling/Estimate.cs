namespace Weir.Lab.Scaling;

/// <summary>A fitted value with its interval.</summary>
/// <param name="Value">The value.</param>
/// <param name="Lower">The lower end of the interval.</param>
/// <param name="Upper">The upper end of the interval.</param>
internal readonly record struct Estimate(double Value, double Lower, double Upper);
