namespace Weir.Resilience;

/// <summary>Decides whether a failed attempt is followed by another, and after what delay. It does not wait itself.</summary>
/// <remarks>
/// It has no state except its randomness: one instance serves any number of calls and threads at once. The caller keeps the number of the attempt and the
/// previous delay, and so can wait wherever it likes, without holding a worker.
/// </remarks>
public sealed class RetryPolicy
{
    private readonly RetryOptions _options;
    private readonly Func<double> _randomness;

    /// <summary>Creates a policy from the options.</summary>
    /// <param name="options">Which failures are retried; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public RetryPolicy(RetryOptions? options = null)
    {
        _options = options ?? new RetryOptions();
        _options.Validate();
        _randomness = _options.Randomness ?? SeededRandom.Shared.NextDouble;
    }

    internal Func<int, Exception, ValueTask>? OnRetryAsync => _options.OnRetryAsync;

    /// <summary>Decides what follows a failed attempt.</summary>
    /// <param name="attempt">The number of the failed attempt, from 1.</param>
    /// <param name="exception">Its exception.</param>
    /// <param name="previousDelay">What this method returned for the previous attempt; zero after the first attempt.</param>
    /// <param name="cancellationToken">The caller's token. After it has been cancelled, the answer is always to give up, and no user code is called.</param>
    /// <returns>The delay before the next attempt, or <see langword="null"/> to give up.</returns>
    /// <remarks>
    /// The delay has a resolution of 100 ns. Timers work in whole milliseconds, so round it with <see cref="TimerDelay.RoundUp"/>.
    /// An exception from <see cref="RetryOptions.IsTransient"/>, <see cref="RetryOptions.DelayHint"/> or <see cref="RetryOptions.Randomness"/> is passed on.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="attempt"/> is less than 1, or <paramref name="previousDelay"/> is negative.</exception>
    public TimeSpan? GetDelay(int attempt, Exception exception, TimeSpan previousDelay, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(exception);
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(previousDelay, TimeSpan.Zero);
        if (!MayRetry(attempt, cancellationToken) || !IsTransient(exception))
        {
            return null;
        }

        return DelayAfter(attempt, previousDelay, _options.DelayHint?.Invoke(exception));
    }

    /// <summary>Decides what follows an attempt that the caller wants to repeat, such as one whose result it does not accept.</summary>
    /// <param name="attempt">The number of the attempt, from 1.</param>
    /// <param name="previousDelay">What this method returned for the previous attempt; zero after the first attempt.</param>
    /// <param name="hint">
    /// A delay that replaces the computed one, at most <see cref="RetryOptions.MaxDelay"/>; <see langword="null"/> or less than zero for none.
    /// </param>
    /// <param name="cancellationToken">The caller's token. After it has been cancelled, the answer is always to give up.</param>
    /// <returns>The delay before the next attempt, or <see langword="null"/> to give up: no attempt is left.</returns>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="attempt"/> is less than 1, or <paramref name="previousDelay"/> is negative.</exception>
    public TimeSpan? GetDelay(int attempt, TimeSpan previousDelay, TimeSpan? hint = null, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(previousDelay, TimeSpan.Zero);
        return MayRetry(attempt, cancellationToken) ? DelayAfter(attempt, previousDelay, hint) : null;
    }

    /// <summary>Whether an attempt is left.</summary>
    internal bool MayRetry(int attempt, CancellationToken cancellationToken) => attempt <= _options.MaxRetries && !cancellationToken.IsCancellationRequested;

    /// <summary>The delay that an exception asks for.</summary>
    internal TimeSpan? HintOf(Exception exception) => _options.DelayHint?.Invoke(exception);

    private TimeSpan DelayAfter(int attempt, TimeSpan previousDelay, TimeSpan? hint) =>
        hint is not { } asked || asked < TimeSpan.Zero
            ? Backoff.GetDelay(_options.BackoffStrategy, _options.BaseDelay, _options.MaxDelay, attempt, previousDelay, _randomness)
            : asked < _options.MaxDelay ? asked : _options.MaxDelay;

    private bool IsTransient(Exception exception) => _options.IsTransient?.Invoke(exception) ?? Transient.IsTransient(exception);
}
