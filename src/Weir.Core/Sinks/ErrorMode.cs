namespace Weir;

/// <summary>What a run does when an item fails.</summary>
/// <remarks>
/// Cancellation by the caller is not an item failure. In every mode it surfaces as an
/// <see cref="OperationCanceledException"/> that carries the caller's token. A source that throws ends the run in every mode.
/// </remarks>
public enum ErrorMode
{
    /// <summary>
    /// The first failure stops the run: no further item starts, running items are cancelled, and the first exception is
    /// thrown unwrapped, with its own stack trace. This is the default.
    /// </summary>
    FailFast = 0,

    /// <summary>
    /// All items run. At the end, an <see cref="ItemsFailedException"/> is thrown that contains every item's exception and
    /// the results of the items that succeeded.
    /// </summary>
    CollectAndContinue = 1,

    /// <summary>
    /// All items run. Failed items are left out, and their exceptions are not kept. A run all of whose items fail ends normally too: where a loss matters, use
    /// <see cref="CollectAndContinue"/>, or look at each failure in <c>OnErrorAsync</c> or in the outcomes.
    /// </summary>
    BestEffort = 2,
}
