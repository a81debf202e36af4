namespace Weir.Core.Sinks;

/// <summary>What the caller of a run gets: see <see cref="RunEnd"/>.</summary>
internal enum RunResult
{
    /// <summary>The results.</summary>
    Completed,

    /// <summary>The cancellation that it asked for itself.</summary>
    Cancelled,

    /// <summary>One exception, as it is.</summary>
    Failed,

    /// <summary>All failures, with the results of the other items.</summary>
    FailedInPart,
}
