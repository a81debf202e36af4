using System.Diagnostics.CodeAnalysis;

namespace Weir.Policies;

/// <summary>The signal with its result.</summary>
/// <param name="result">The result.</param>
/// <param name="isItem">Whether it is the item itself, which is the caller's and has another attempt before it.</param>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class RefusedResultException<TResult>(TResult result, bool isItem) : RefusedResultException
{
    public override object? Discarded => isItem ? null : result;

    public TResult Result => result;
}
