namespace Weir;

/// <summary>
/// Parallel operators over sequences. They are bounded and cancellable, return lists in source order, and need neither a task nor a copy per item.
/// </summary>
public static partial class ParallelOperators;
