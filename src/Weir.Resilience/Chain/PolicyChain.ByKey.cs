using System.Runtime.CompilerServices;

namespace Weir.Resilience;

// Policies by key: each key has a chain that is this one with the key's policies, made when they are first used.
public sealed partial class PolicyChain<TResult>
{
    private readonly PolicyChainOptions _options;
    private readonly bool _hasKeys;
    private readonly Func<KeyedUse>? _use;
    private PolicyChain<TResult>? _ofKey;

    private PolicyChain(PolicyChain<TResult> other)
    {
        _options = other._options;
        _fallback = other._fallback;
        _total = other._total;
        _retry = other._retry;
        _shouldRetry = other._shouldRetry;
        _delayHint = other._delayHint;
        _guard = other._guard;
        _limit = other._limit;
        _clock = other._clock;
        _name = other._name;
    }

    internal PolicyChain(PolicyChain<TResult> other, Func<KeyedUse> use)
        : this(other)
    {
        _hasKeys = true;
        _use = use;
    }

    private PolicyChain(PolicyChain<TResult> other, in KeyedUse use)
        : this(other) => _guard = GuardOf(_options, use);

    /// <summary>The same chain for the calls of an item, whose keys choose among the policies by key.</summary>
    /// <typeparam name="TItem">The type that the policies by key were made for, or one derived from it.</typeparam>
    /// <param name="item">What has the keys, such as a request or the address of a server.</param>
    /// <returns>
    /// A chain that serves any number of calls and threads. Make it for each call, or keep it for the calls of the same item, which then allocate nothing.
    /// </returns>
    /// <remarks>The functions that return a key run once per call. What they throw fails the call, and no policy sees it.</remarks>
    /// <exception cref="InvalidOperationException">The chain has no policy by key, or it is one for an item already.</exception>
    /// <exception cref="ArgumentException">The keys are those of another type of items.</exception>
    public PolicyChain<TResult> For<TItem>(TItem item) => new(this, UseOf(_options, item, _use is not null));

    /// <summary>The options, with the chain's own policies.</summary>
    internal PolicyChainOptions Options => _options;

    /// <summary>Finds the policies of an item's keys.</summary>
    internal static Func<KeyedUse> UseOf<TItem>(PolicyChainOptions options, TItem item, bool isForItem)
    {
        if (isForItem || !options.HasKeys)
        {
            throw new InvalidOperationException(
                isForItem
                    ? "The chain is one for an item already."
                    : "The chain has no policy by key: set one in its options, such as CircuitBreaker = CircuitBreakers.ByKey(...).");
        }

        KeyedPolicies<TItem> policies = new(options.CircuitBreaker, options.ConcurrencyLimit, options.RateLimit);
        return () => policies.Use(item);
    }

    private static AttemptGuard GuardOf(PolicyChainOptions options, in KeyedUse use) => new(
        use.Breaker?.Policy ?? options.CircuitBreaker?.Instance as CircuitBreaker,
        (use.Limit?.Policy ?? options.ConcurrencyLimit as SharedConcurrencyLimit) is { } limit ? new PlaceUser(limit, null) : null,
        use.Rate?.Policy ?? use.OtherRate ?? options.RateLimit?.Instance as IRateLimit,
        options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen);

    private ValueTask<TResult> ExecuteByKeyAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken)
    {
        if (_use is null)
        {
            throw new InvalidOperationException("The chain has policies by key, so a call has to say what has the key: chain.For(item).ExecuteAsync(...).");
        }

        KeyedUse use;
        try
        {
            use = _use();
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<TResult>(exception);
        }

        ValueTask<TResult> pending;
        try
        {
            pending = ChainOf(use).ExecuteAsync(call, state, cancellationToken);
            if (!pending.IsCompleted)
            {
                return ReleaseAsync(pending, use);
            }
        }
        catch
        {
            // A clock of the user's, for example. A key that stays in use is never forgotten.
            use.Release();
            throw;
        }

        use.Release();
        return pending;
    }

    // The key's policies are forgotten only while nobody uses them. Then there are new ones, and a new chain.
    private PolicyChain<TResult> ChainOf(in KeyedUse use)
    {
        PolicyChain<TResult>? chain = Volatile.Read(ref _ofKey);
        if (chain is null || !chain._guard.Has(use))
        {
            chain = new PolicyChain<TResult>(this, use);
            Volatile.Write(ref _ofKey, chain);
        }

        return chain;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<TResult> ReleaseAsync(ValueTask<TResult> pending, KeyedUse use)
    {
        try
        {
            return await pending.ConfigureAwait(false);
        }
        finally
        {
            use.Release();
        }
    }
}
