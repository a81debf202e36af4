using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// Tells the engine that an attempt gave a result which the run's rule refused, so that another attempt follows. Never seen outside. A cancellation, so that
/// the item of a run that has stopped is a cancelled one.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal abstract class RefusedResultException : OperationCanceledException
{
    private int _dropped;

    /// <summary>The result, unless it is not to be disposed of.</summary>
    public abstract object? Discarded { get; }

    /// <summary>Disposes of the result, unless that has been done.</summary>
    public ValueTask DropAsync() => Interlocked.Exchange(ref _dropped, 1) == 0 ? DiscardedResult.DisposeAsync(Discarded) : default;

    /// <summary>The same where nobody hears of an exception: the item has its outcome, or an error that came first.</summary>
    public Task DropQuietlyAsync() =>
        Interlocked.Exchange(ref _dropped, 1) == 0 ? DiscardedResult.DropAsync(Discarded) : Task.CompletedTask;
}
