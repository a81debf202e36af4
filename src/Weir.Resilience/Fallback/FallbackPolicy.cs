namespace Weir.Resilience;

/// <summary>Decides whether a failed call gets another result, and supplies it.</summary>
/// <remarks>It has no state: one instance serves any number of calls and threads at once.</remarks>
/// <typeparam name="TResult">The type of the result.</typeparam>
public sealed class FallbackPolicy<TResult>
{
    private readonly FallbackOptions<TResult> _options;

    /// <summary>Creates a policy from the options.</summary>
    /// <param name="options">The fallback.</param>
    /// <exception cref="ArgumentNullException"><paramref name="options"/> or its handler is missing.</exception>
    public FallbackPolicy(FallbackOptions<TResult> options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        _options = options;
    }

    /// <summary>Whether a failure gets the fallback.</summary>
    /// <param name="exception">The call's exception.</param>
    /// <param name="cancellationToken">The caller's token. After it has been cancelled, there is no fallback.</param>
    /// <returns>Whether to call <see cref="GetResultAsync"/>. An exception from <see cref="FallbackOptions{TResult}.ShouldHandle"/> is passed on.</returns>
    public bool ShouldHandle(Exception exception, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(exception);
        return !cancellationToken.IsCancellationRequested
            && (_options.ShouldHandle?.Invoke(exception) ?? (exception is not OperationCanceledException || TimeoutFailure.Is(exception)));
    }

    /// <summary>Returns the result for a failed call.</summary>
    /// <param name="exception">The call's exception.</param>
    /// <param name="cancellationToken">The caller's token, which is passed to the handler.</param>
    /// <returns>The handler's result. Its exceptions are passed on, including those of a cancelled token.</returns>
    public ValueTask<TResult> GetResultAsync(Exception exception, CancellationToken cancellationToken = default) =>
        _options.Handler(exception, cancellationToken);
}

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
