using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Dispatch;

/// <summary>
/// Tells the engine that an item's call was not made: its run has stopped or its time is up, or it has to wait first. Never seen outside. A cancellation, so
/// that an item of a run that has stopped counts as no failure.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal class NotBegunException : OperationCanceledException;
