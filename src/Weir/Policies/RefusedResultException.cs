using System.Diagnostics.CodeAnalysis;

namespace Weir.Policies;

/// <summary>
/// Tells the engine that an attempt gave a result which the run's rule refused, so that another attempt follows. Never seen outside. A cancellation, so that
/// the item of a run that has stopped is a cancelled one.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal abstract class RefusedResultException : OperationCanceledException
{
    /// <summary>The result.</summary>
    public abstract object? Boxed { get; }
}
