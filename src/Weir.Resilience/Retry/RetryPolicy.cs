using System.Data.Common;
using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Resilience;

/// <summary>Decides whether a failed attempt is followed by another, and after what delay. It does not wait itself.</summary>
/// <remarks>
/// It has no state except its randomness and <see cref="RetryOptions.Budget"/>: one instance serves any number of calls and threads at once. The caller keeps the number of the attempt and the
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
        if (_options.Budget is not (null or RetryBudget))
        {
            throw new ArgumentException("Budget has one for each key, and a RetryPolicy gets none: take that of the key with Get.", nameof(options));
        }

        _randomness = _options.Randomness ?? SeededRandom.Shared.NextDouble;
    }

    /// <summary>Creates the policy of a chain or a run, which say whose budget counts.</summary>
    internal static RetryPolicy Of(RetryOptions options) => new(options with { Budget = options.Budget as RetryBudget });

    internal Func<int, Exception, ValueTask>? OnRetryAsync => _options.OnRetryAsync;

    /// <summary>Decides what follows a failed attempt.</summary>
    /// <param name="attempt">The number of the failed attempt, from 1.</param>
    /// <param name="exception">Its exception.</param>
    /// <param name="previousDelay">What this method returned for the previous attempt; zero after the first attempt.</param>
    /// <param name="cancellationToken">The caller's token. After it has been cancelled, the answer is always to give up, and no user code is called.</param>
    /// <returns>
    /// The delay before the next attempt, which has been taken out of <see cref="RetryOptions.Budget"/>; or <see langword="null"/> to give up.
    /// </returns>
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
        return GetDelay(attempt, exception, previousDelay, left: null, Budget, cancellationToken);
    }

    /// <summary>Decides what follows a failed attempt of a call that has so much time left; null for any.</summary>
    internal TimeSpan? GetDelay(
        int attempt, Exception exception, TimeSpan previousDelay, TimeSpan? left, RetryBudget? budget, CancellationToken cancellationToken)
    {
        if (!MayRetry(attempt, cancellationToken) || !IsTransient(exception))
        {
            return null;
        }

        return Paid(DelayAfter(attempt, previousDelay, _options.DelayHint?.Invoke(exception)), left, budget);
    }

    /// <summary>Decides what follows an attempt that the caller wants to repeat, such as one whose result it does not accept.</summary>
    /// <param name="attempt">The number of the attempt, from 1.</param>
    /// <param name="previousDelay">What this method returned for the previous attempt; zero after the first attempt.</param>
    /// <param name="hint">
    /// A delay that replaces the computed one, at most <see cref="RetryOptions.MaxDelay"/>; <see langword="null"/> or less than zero for none.
    /// </param>
    /// <param name="cancellationToken">The caller's token. After it has been cancelled, the answer is always to give up.</param>
    /// <returns>The delay before the next attempt, or <see langword="null"/> to give up: no attempt is left, or the budget refused it.</returns>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="attempt"/> is less than 1, or <paramref name="previousDelay"/> is negative.</exception>
    public TimeSpan? GetDelay(int attempt, TimeSpan previousDelay, TimeSpan? hint = null, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(previousDelay, TimeSpan.Zero);
        return GetDelay(attempt, previousDelay, hint, left: null, Budget, cancellationToken);
    }

    /// <summary>Decides what follows an attempt that is to be repeated, of a call that has so much time left; null for any.</summary>
    internal TimeSpan? GetDelay(
        int attempt, TimeSpan previousDelay, TimeSpan? hint, TimeSpan? left, RetryBudget? budget, CancellationToken cancellationToken) =>
        MayRetry(attempt, cancellationToken) ? Paid(DelayAfter(attempt, previousDelay, hint), left, budget) : null;

    internal RetryBudget? Budget => (RetryBudget?)_options.Budget;

    /// <summary>Whether an attempt is left.</summary>
    internal bool MayRetry(int attempt, CancellationToken cancellationToken) => attempt <= _options.MaxRetries && !cancellationToken.IsCancellationRequested;

    /// <summary>The delay that an exception asks for.</summary>
    internal TimeSpan? HintOf(Exception exception) => _options.DelayHint?.Invoke(exception);

    /// <summary>The delay of an attempt that is decided, and that the budget has been asked for.</summary>
    internal TimeSpan DelayAfter(int attempt, TimeSpan previousDelay, TimeSpan? hint) =>
        hint is not { } asked || asked < TimeSpan.Zero
            ? Backoff.GetDelay(_options.BackoffStrategy, _options.BaseDelay, _options.MaxDelay, attempt, previousDelay, _randomness)
            : asked < _options.MaxDelay ? asked : _options.MaxDelay;

    // The budget last, after all code of the user's that may throw or say no, and only for an attempt that can begin in time.
    private static TimeSpan? Paid(TimeSpan delay, TimeSpan? left, RetryBudget? budget) => delay > left || budget?.TryWithdraw() == false ? null : delay;

    private bool IsTransient(Exception exception) => _options.IsTransient?.Invoke(exception) ?? Transient.IsTransient(exception);
}

/// <summary>How one attempt ended: with a result or with an exception. It is what decides about another attempt where results can be refused too.</summary>
/// <typeparam name="TResult">The type of the results.</typeparam>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "It is read, not compared.")]
public readonly struct AttemptOutcome<TResult>
{
    internal AttemptOutcome(TResult? result, Exception? exception, int attempt)
    {
        Result = result;
        Exception = exception;
        Attempt = attempt;
    }

    /// <summary>Whether the attempt gave a result.</summary>
    [MemberNotNullWhen(true, nameof(Result))]
    [MemberNotNullWhen(false, nameof(Exception))]
    public bool HasResult => Exception is null;

    /// <summary>The result; the default value of its type if the attempt failed.</summary>
    public TResult? Result { get; }

    /// <summary>The exception of an attempt that failed; otherwise <see langword="null"/>.</summary>
    public Exception? Exception { get; }

    /// <summary>The number of the attempt, from 1.</summary>
    public int Attempt { get; }
}

/// <summary>
/// What <c>OnRetryAsync</c> and other hooks get for an attempt that gave a result which <c>ShouldRetry</c> refused. It is never thrown to a caller: the last
/// attempt's result is returned, whatever it is.
/// </summary>
public sealed class ResultRejectedException : Exception
{
    /// <summary>Creates the exception.</summary>
    public ResultRejectedException()
        : this((object?)null)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public ResultRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public ResultRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal ResultRejectedException(object? result)
        : base("ShouldRetry refused the attempt's result.") => Result = result;

    /// <summary>The refused result. If it is disposable, it is disposed of after the hook.</summary>
    public object? Result { get; }
}

/// <summary>A repeatable source of random numbers for jitter: SplitMix64 by Steele, Lea and Flood (OOPSLA 2014).</summary>
/// <remarks>
/// Thread-safe without a lock: one atomic addition per number. On a single thread, the same seed gives the same numbers. Do not use it for secrets.
/// </remarks>
/// <param name="seed">The start of the sequence.</param>
public sealed class SeededRandom(long seed)
{
    private const long Step = unchecked((long)0x9E3779B97F4A7C15);

    private long _state = seed;

    // A Guid has enough random bits for jitter, which is no secret. RandomNumberGenerator would load the system's cryptography in a first call.
    internal static SeededRandom Shared { get; } = new(BitConverter.ToInt64(Guid.NewGuid().ToByteArray()));

    /// <summary>Returns the next number.</summary>
    /// <returns>A number from 0 to less than 1, one of 2^53 equally likely values.</returns>
    public double NextDouble()
    {
        ulong mixed = (ulong)Interlocked.Add(ref _state, Step);
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        mixed ^= mixed >> 31;
        return (mixed >> 11) * (1.0 / (1UL << 53));
    }
}

/// <summary>Recognises failures that the platform itself calls transient. These are retried by default.</summary>
/// <remarks>
/// A failure that is not in this list, such as a bug or an invalid input, usually recurs at the next attempt, and a call that is repeated blindly may do its
/// work twice. A limit that refuses a call is in this process and knows that it has more than it can do: trying again would add to that. To add to the list: <c>e => Transient.IsTransient(e) || e is MyException</c>. To retry everything: <c>_ => true</c>.
/// </remarks>
public static class Transient
{
    /// <summary>Whether a failure is transient, so that the next attempt may succeed.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// <see langword="true"/> for
    /// <list type="bullet">
    /// <item>
    /// a <see cref="TimeoutException"/>, and an <see cref="OperationCanceledException"/> with one as its inner exception: an attempt that timed out, and
    /// <c>HttpClient.Timeout</c>;
    /// </item>
    /// <item>a <see cref="SocketException"/>;</item>
    /// <item>an <see cref="HttpRequestException"/> without a status code, or with 408, 429 or 5xx, and an <see cref="HttpIOException"/>;</item>
    /// <item>a <see cref="DbException"/> whose <see cref="DbException.IsTransient"/> is true;</item>
    /// <item>an <see cref="IOException"/> whose inner exception is one of these;</item>
    /// <item>an <see cref="AggregateException"/> all of whose inner exceptions are transient.</item>
    /// </list>
    /// <see langword="false"/> for everything else: any other cancellation, an open circuit, what a limit refused
    /// (<see cref="RateLimitRejectedException"/>, <see cref="ConcurrencyLimitRejectedException"/>), and exceptions that merely contain one of these.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="exception"/> is <see langword="null"/>.</exception>
    /// <remarks>This method is thread-safe.</remarks>
    public static bool IsTransient(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        return exception switch
        {
            OperationCanceledException => TimeoutFailure.Is(exception),
            TimeoutException or SocketException => true,
            IOException { InnerException: { } inner } when IsTransient(inner) => true,
            AggregateException { InnerExceptions: { Count: > 0 } all } => all.All(IsTransient),

            // All database exceptions are of this kind. Checked first, so that a program without a database does not load its assembly.
            ExternalException => IsTransientOfDatabase(exception),
            _ => IsTransientOfHttp(exception),
        };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool IsTransientOfDatabase(Exception exception) => exception is DbException { IsTransient: true };

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool IsTransientOfHttp(Exception exception) => exception switch
    {
        HttpRequestException { StatusCode: { } status } => status is HttpStatusCode.RequestTimeout or HttpStatusCode.TooManyRequests || (int)status / 100 == 5,

        // No response, or one that broke off. The latter has its own type if it occurs while the response is read.
        HttpRequestException or HttpIOException => true,
        _ => false,
    };
}

/// <summary>The delay before a retry, by the formulas of <see cref="BackoffStrategy"/>, in units of 100 ns.</summary>
public static class Backoff
{
    /// <summary>Computes the delay before a retry. It is a pure function of its arguments and the randomness.</summary>
    /// <param name="strategy">How the delay grows.</param>
    /// <param name="baseDelay">The base delay; not negative.</param>
    /// <param name="maxDelay">The longest delay; not negative.</param>
    /// <param name="attempt">The number of the failed attempt, from 1, which is also the number of the retry that follows.</param>
    /// <param name="previousDelay">
    /// The delay before the failed attempt; zero for the first attempt. Only <see cref="BackoffStrategy.DecorrelatedJitter"/> uses it.
    /// </param>
    /// <param name="randomness">Returns a number from 0 to less than 1 at each call. Strategies without jitter do not call it.</param>
    /// <returns>The delay, from zero to <paramref name="maxDelay"/>, whatever the arguments: it cannot overflow.</returns>
    /// <exception cref="ArgumentOutOfRangeException">A delay is negative, <paramref name="attempt"/> is less than 1, or the strategy is unknown.</exception>
    public static TimeSpan GetDelay(
        BackoffStrategy strategy, TimeSpan baseDelay, TimeSpan maxDelay, int attempt, TimeSpan previousDelay, Func<double> randomness)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(baseDelay, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(maxDelay, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(previousDelay, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        ArgumentNullException.ThrowIfNull(randomness);
        long cap = maxDelay.Ticks;
        long start = Math.Min(baseDelay.Ticks, cap);
        return new TimeSpan(strategy switch
        {
            BackoffStrategy.Exponential => Doubled(start, attempt - 1, cap),
            BackoffStrategy.ExponentialJitter => Between(0, Doubled(start, attempt - 1, cap), randomness),
            BackoffStrategy.DecorrelatedJitter when attempt == 1 => start,
            BackoffStrategy.DecorrelatedJitter => Between(start, Math.Max(start, Times(previousDelay.Ticks, 3, cap)), randomness),
            BackoffStrategy.Linear => Times(start, attempt, cap),
            BackoffStrategy.LinearJitter => Between(0, Times(start, attempt, cap), randomness),
            _ => throw new ArgumentOutOfRangeException(nameof(strategy), strategy, "The strategy is not one of BackoffStrategy."),
        });
    }

    // Comparing the shifted cap rather than the product leaves nothing that could overflow.
    private static long Doubled(long ticks, int times, long cap) => times > 62 || ticks > cap >> times ? (ticks == 0 ? 0 : cap) : ticks << times;

    private static long Times(long ticks, int factor, long cap) => ticks > cap / factor ? cap : ticks * factor;

    private static long Between(long low, long high, Func<double> randomness)
    {
        double chance = randomness();

        // The user's function may break its contract; the delay still stays in its range. NaN fails the comparison and becomes zero.
        chance = chance > 0 ? Math.Min(chance, 1) : 0;
        return low + Math.Min((long)((high - low) * chance), high - low);
    }
}

/// <summary>Which failures are retried, how often, and after what delay. Immutable.</summary>
/// <remarks>The values are checked when a <see cref="RetryPolicy"/> is created from them.</remarks>
public sealed record RetryOptions
{
    /// <summary>How many attempts may follow the first one.</summary>
    /// <value>At least 0. The default is 3: four attempts in all. Who makes retry options wants retries.</value>
    /// <remarks>A run or a chain without retry options retries nothing.</remarks>
    public int MaxRetries { get; init; } = 3;

    /// <summary>The delay that <see cref="BackoffStrategy"/> starts from.</summary>
    /// <value>From zero (retry at once) to <see cref="MaxDelay"/>, if there are retries. The default is 100 ms.</value>
    public TimeSpan BaseDelay { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest delay before a retry, including delays from <see cref="DelayHint"/>.</summary>
    /// <value>From <see cref="BaseDelay"/> to 2^32 - 2 ms, about 49 days. The default is 5 minutes.</value>
    public TimeSpan MaxDelay { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How the delay grows from retry to retry.</summary>
    /// <value>
    /// The default is <see cref="BackoffStrategy.ExponentialJitter"/>, so that calls that failed together are not repeated together. For repeatable delays, set
    /// <see cref="Randomness"/>.
    /// </value>
    public BackoffStrategy BackoffStrategy { get; init; } = BackoffStrategy.ExponentialJitter;

    /// <summary>Decides whether a failure is retried.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for <see cref="Transient.IsTransient"/>: only failures that the platform itself calls transient, including time
    /// limits. An <see cref="System.IO.IOException"/> of a file is none of them.
    /// </value>
    /// <remarks>
    /// Your own function replaces the default and is called for every failure, including open circuits and cancellations: <c>e => Transient.IsTransient(e) || e
    /// is MyException</c> adds to the default, <c>_ => true</c> retries everything. It is never called after the caller has cancelled.
    /// </remarks>
    public Func<Exception, bool>? IsTransient { get; init; }

    /// <summary>Returns the delay that a failure itself asks for, such as HTTP's <c>Retry-After</c>; <see langword="null"/> if it asks for none.</summary>
    /// <value>The default is <see langword="null"/>: the delay is always that of <see cref="BackoffStrategy"/>.</value>
    /// <remarks>
    /// The hint replaces the computed delay. A hint below zero counts as none, and one above <see cref="MaxDelay"/> as <see cref="MaxDelay"/>.
    /// </remarks>
    public Func<Exception, TimeSpan?>? DelayHint { get; init; }

    /// <summary>Bounds the retries to a share of the calls, over everything that has the same budget.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no bound but <see cref="MaxRetries"/>. A retry that finds no token is not made: the call ends as after its last
    /// attempt, with its own error or result.
    /// </value>
    /// <remarks>Chains and runs deposit for each call or item, once. One for each key, such as each server, is from <see cref="RetryBudgets.ByKey"/>.</remarks>
    public IRetryBudgetSetting? Budget { get; init; }

    /// <summary>Called before the delay of each retry, with the number of the failed attempt, from 1, and its exception.</summary>
    /// <remarks>
    /// <see cref="PolicyChain{TResult}"/> and runs call it, but never after the caller has cancelled. A <see cref="RetryPolicy"/> by itself only decides and
    /// does not call it. An exception from it ends the call.
    /// </remarks>
    public Func<int, Exception, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>The randomness for the strategies with jitter. Returns a number from 0 to less than 1 at each call.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for the process's generator, which is seeded by the system. For repeatable delays, set your own
    /// <see cref="SeededRandom.NextDouble"/>.
    /// </value>
    /// <remarks>Called from all threads that use the policy.</remarks>
    public Func<double>? Randomness { get; init; }

    internal void Validate()
    {
        Validate(MaxRetries, BaseDelay, MaxDelay, BackoffStrategy);
        if (Budget is not (null or RetryBudget or RetryBudgets))
        {
            throw new ArgumentException($"{nameof(Budget)} must be a RetryBudget, or those of RetryBudgets.ByKey.", nameof(Budget));
        }
    }

    /// <summary>Checks the values for code that has no options object: every run checks them, and few runs retry.</summary>
    internal static void Validate(int maxRetries, TimeSpan baseDelay, TimeSpan maxDelay, BackoffStrategy backoffStrategy)
    {
        Require.AtLeast(0, maxRetries, nameof(MaxRetries));
        Require.NotNegative(baseDelay, nameof(BaseDelay));
        Require.NotNegative(maxDelay, nameof(MaxDelay));
        if (maxRetries > 0)
        {
            Require.AtLeast(baseDelay, maxDelay, nameof(MaxDelay), nameof(BaseDelay));
        }

        if (backoffStrategy is not (>= BackoffStrategy.Exponential and <= BackoffStrategy.LinearJitter))
        {
            throw Require.Undefined(backoffStrategy, nameof(BackoffStrategy), "one of the named strategies");
        }
    }
}

/// <summary>How the delay before a retry grows. Here b is the base delay, n the number of the retry from 1, cap the longest delay.</summary>
public enum BackoffStrategy
{
    /// <summary>min(cap, b * 2^(n-1)).</summary>
    Exponential = 0,

    /// <summary>A random delay from zero to min(cap, b * 2^(n-1)).</summary>
    ExponentialJitter = 1,

    /// <summary>b before the first retry, then a random delay from b to min(cap, max(b, 3 * the previous delay)).</summary>
    DecorrelatedJitter = 2,

    /// <summary>min(cap, b * n).</summary>
    Linear = 3,

    /// <summary>A random delay from zero to min(cap, b * n).</summary>
    LinearJitter = 4,
}
