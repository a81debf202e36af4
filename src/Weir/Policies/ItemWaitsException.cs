using System.Diagnostics.CodeAnalysis;
using Weir.Core.Metering;

namespace Weir.Policies;

/// <summary>
/// Tells the engine that an attempt could not begin, because its item waits for a place of the concurrency limit, or at a rate limit by key. Never seen
/// outside. A cancellation, so that the item of a run that has stopped is a cancelled one.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class ItemWaitsException(RunPlaces waitsAt, Task until, WaitKind kind) : OperationCanceledException
{
    public RunPlaces WaitsAt => waitsAt;

    public Task Until => until;

    public WaitKind Kind => kind;
}
