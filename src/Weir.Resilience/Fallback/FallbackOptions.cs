namespace Weir.Resilience;

/// <summary>What takes the place of a result that could not be had. Immutable.</summary>
/// <typeparam name="TResult">The type of the result.</typeparam>
public sealed record FallbackOptions<TResult>
{
    /// <summary>Gives the result in place of the failed one, from what the call failed with, a <see cref="CircuitBreakerOpenException"/> and timeouts included. The token is the caller's.</summary>
    /// <remarks>An exception from it is what the caller gets.</remarks>
    public required Func<Exception, CancellationToken, ValueTask<TResult>> Handler { get; init; }

    /// <summary>Whether a failure gets the fallback.</summary>
    /// <value><see langword="null"/>, the default, for every failure but an <see cref="OperationCanceledException"/> that is no timeout (see <see cref="TimeoutFailure"/>).</value>
    /// <remarks>Never asked once the caller has cancelled: then there is no fallback.</remarks>
    public Func<Exception, bool>? ShouldHandle { get; init; }

    internal void Validate() => ArgumentNullException.ThrowIfNull(Handler, nameof(Handler));
}
