namespace Weir.Resilience;

/// <summary>Supplies a result when a call fails. Immutable.</summary>
/// <typeparam name="TResult">The type of the result.</typeparam>
public sealed record FallbackOptions<TResult>
{
    /// <summary>
    /// Returns the result to use, given the call's exception, which can be a <see cref="CircuitBreakerOpenException"/> or a timeout. The token is the caller's.
    /// </summary>
    /// <remarks>An exception from it goes to the caller.</remarks>
    public required Func<Exception, CancellationToken, ValueTask<TResult>> Handler { get; init; }

    /// <summary>Whether a failure gets the fallback.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for every failure except an <see cref="OperationCanceledException"/> that is not a timeout (see
    /// <see cref="TimeoutFailure"/>).
    /// </value>
    /// <remarks>Never called after the caller has cancelled: then there is no fallback.</remarks>
    public Func<Exception, bool>? ShouldHandle { get; init; }

    internal void Validate() => ArgumentNullException.ThrowIfNull(Handler, nameof(Handler));
}
