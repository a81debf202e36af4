namespace Weir.Lab.Scaling;

/// <summary>A fitted value with its interval.</summary>
internal readonly record struct Estimate(double Value, double Lower, double Upper);
