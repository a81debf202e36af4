using System.Diagnostics.CodeAnalysis;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir.Policies;

/// <summary>
/// Tells the engine that an attempt could not begin, because its item waits for a place of the concurrency limit, or at a rate limit by key. Never seen
/// outside.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class ItemWaitsException(RunPlaces waitsAt, Task until, WaitKind kind) : NotBegunException
{
    public RunPlaces WaitsAt => waitsAt;

    public Task Until => until;

    public WaitKind Kind => kind;
}
