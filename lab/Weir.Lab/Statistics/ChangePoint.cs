namespace Weir.Lab.Statistics;

/// <summary>A place in a sequence from which on its values are others than before.</summary>
/// <param name="Index">The first value after the change, counted from 0.</param>
/// <param name="P">How often a sequence without any change has a place that looks so much like one.</param>
internal readonly record struct ChangePoint(int Index, double P);
