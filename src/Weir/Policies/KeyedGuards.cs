using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The policies of a run that has a policy by key: those of an item's key, and the run's own for the rest.</summary>
internal sealed class KeyedGuards<TItem>
{
    private readonly ByKey _byKey;
    private readonly AttemptGuard _own;
    private readonly IRateLimit? _rate;
    private readonly Func<int> _most;

    // The run as a user of each limit. Weak, so that the limits of keys that are forgotten go. A limit that outlives the run keeps its user for a while, so a
    // user must not lead back to the run: the limit would keep the run, and with it this table, for as long as it lives itself.
    private readonly ConditionalWeakTable<SharedConcurrencyLimit, PlaceUser> _users = [];

    private KeyedGuards(ParallelRunOptions options, CallPolicies policies)
    {
        _byKey = new ByKey(options);
        _own = policies.Guard;
        _rate = policies.RateLimit;
        WeakReference<CallPolicies> run = new(policies);
        _most = () => run.TryGetTarget(out CallPolicies? live) ? live.RunLimit : int.MaxValue;
    }

    /// <summary>The policies by key of the options, or null if there are none.</summary>
    public static KeyedGuards<TItem>? Of(ParallelRunOptions options, CallPolicies policies) =>
        options.HasKeys ? new KeyedGuards<TItem>(options, policies) : null;

    /// <exception cref="ArgumentException">The keys are those of items of another type.</exception>
    public static void Check(ParallelRunOptions options) => _ = new ByKey(options);

    /// <summary>The policies of an item's keys. Runs the user's functions, and throws what they throw.</summary>
    public KeyedGuard Of(TItem item)
    {
        KeyUse<CircuitBreaker>? breaker = null;
        KeyUse<SharedConcurrencyLimit>? limit = null;
        KeyUse<TokenBucket>? rate = null;
        try
        {
            breaker = _byKey.Breakers?.Use(item);
            limit = _byKey.Limits?.Use(item);
            rate = _byKey.Rates?.Use(item);
            PlaceUser? places = limit is null ? _own.Places : UserOf(limit.Policy);
            AttemptGuard guard = new(
                breaker?.Policy ?? _own.Breaker, places, rate?.Policy ?? _rate, waitsForCircuit: false, waitsForTokens: rate is null);
            return new KeyedGuard(guard, breaker, limit, rate);
        }
        catch
        {
            breaker?.Release();
            limit?.Release();
            rate?.Release();
            throw;
        }
    }

    private PlaceUser UserOf(SharedConcurrencyLimit limit) => _users.GetValue(limit, made => new PlaceUser(made, _most));

    /// <summary>The policies by key of the options, which are those of any type of items, as those of the items here.</summary>
    /// <exception cref="ArgumentException">The keys are those of items of another type.</exception>
    private readonly struct ByKey(ParallelRunOptions options)
    {
        public readonly IKeyed<TItem, CircuitBreaker>? Breakers = Typed<IKeyed<TItem, CircuitBreaker>>(
            options.CircuitBreakerByKey, options.CircuitBreakerByKey?.ItemType, nameof(options.CircuitBreakerByKey));

        public readonly IKeyed<TItem, SharedConcurrencyLimit>? Limits = Typed<IKeyed<TItem, SharedConcurrencyLimit>>(
            options.ConcurrencyLimitByKey, options.ConcurrencyLimitByKey?.ItemType, nameof(options.ConcurrencyLimitByKey));

        public readonly IKeyed<TItem, TokenBucket>? Rates = Typed<IKeyed<TItem, TokenBucket>>(
            options.RateLimitByKey, options.RateLimitByKey?.ItemType, nameof(options.RateLimitByKey));

        private static T? Typed<T>(object? policy, Type? items, string property)
            where T : class =>
            policy is null ? null : policy as T ?? throw new ArgumentException(
                $"{property} has the keys of items of type {items!.Name}, but the items here are of type {typeof(TItem).Name}.", property);
    }
}
