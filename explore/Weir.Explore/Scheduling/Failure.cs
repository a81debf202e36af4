namespace Weir.Explore.Scheduling;

/// <summary>Why a schedule failed.</summary>
internal sealed record Failure(FailureKind Kind, string Message, Exception? Exception);
