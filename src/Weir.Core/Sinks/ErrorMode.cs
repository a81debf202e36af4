namespace Weir;

/// <summary>What a run does when an item fails.</summary>
/// <remarks>
/// The caller's own cancellation is not an item failure: in every mode it surfaces as an
/// <see cref="OperationCanceledException"/> that carries the caller's token. A source that throws ends the run in every mode.
/// </remarks>
public enum ErrorMode
{
    /// <summary>
    /// The first failure stops the run: no further item starts, running items are cancelled, and that first exception is
    /// thrown as it is, with its own stack trace. This is the default.
    /// </summary>
    FailFast = 0,

    /// <summary>
    /// All items run. At the end one <see cref="ItemsFailedException"/> is thrown that holds every item's exception and
    /// gives access to the results of the items that succeeded.
    /// </summary>
    CollectAndContinue = 1,

    /// <summary>All items run. Failed items are dropped, and their exceptions are not kept.</summary>
    BestEffort = 2,
}
