using System.Diagnostics.CodeAnalysis;

namespace Weir.Policies;

/// <summary>The signal with its result.</summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class RefusedResultException<TResult>(TResult result) : RefusedResultException
{
    public override object? Boxed => result;

    public TResult Result => result;
}
