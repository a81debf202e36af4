namespace Weir.Lab.Workers;

/// <summary>One start that was due.</summary>
/// <param name="Intended">When it was due, in clock units.</param>
/// <param name="Counts">Whether it lies in the measured window.</param>
internal readonly record struct PacedStart(long Intended, bool Counts);
