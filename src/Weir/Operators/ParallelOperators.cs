namespace Weir;

/// <summary>
/// Parallel operators over sequences: bounded, cancellable, in source order where a list is returned, and without a task or a copy per item.
/// One file per verb.
/// </summary>
public static partial class ParallelOperators;
