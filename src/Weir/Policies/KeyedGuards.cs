using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The policies of a run that has a policy by key: those of an item's key, and the run's own for the rest.</summary>
internal sealed class KeyedGuards<TItem>
{
    private readonly KeyedPolicies<TItem> _byKey;
    private readonly AttemptGuard _own;
    private readonly IRateLimit? _rate;
    private readonly Func<int> _most;

    // The run as a user of each limit. Weak, so that the limits of keys that are forgotten go. A limit that outlives the run keeps its user for a while, so a
    // user must not lead back to the run: the limit would keep the run, and with it this table, for as long as it lives itself.
    private readonly ConditionalWeakTable<SharedConcurrencyLimit, PlaceUser> _users = [];

    private KeyedGuards(ParallelRunOptions options, CallPolicies policies)
    {
        _byKey = PoliciesOf(options);
        _own = policies.Guard;
        _rate = policies.RateLimit;
        WeakReference<CallPolicies> run = new(policies);
        _most = () => run.TryGetTarget(out CallPolicies? live) ? live.RunLimit : int.MaxValue;
    }

    /// <summary>The policies by key of the options, or null if there are none.</summary>
    public static KeyedGuards<TItem>? Of(ParallelRunOptions options, CallPolicies policies) =>
        options.HasKeys ? new KeyedGuards<TItem>(options, policies) : null;

    /// <exception cref="ArgumentException">The keys are those of items of another type.</exception>
    public static void Check(ParallelRunOptions options) => _ = PoliciesOf(options);

    /// <summary>The policies of an item's keys. Runs the user's functions, and throws what they throw.</summary>
    public KeyedGuard Of(TItem item)
    {
        KeyedUse use = _byKey.Use(item);
        PlaceUser? places = use.Limit is null ? _own.Places : UserOf(use.Limit.Policy);
        IRateLimit? rate = use.Rate?.Policy ?? use.OtherRate ?? _rate;
        AttemptGuard guard = new(use.Breaker?.Policy ?? _own.Breaker, places, rate, waitsForCircuit: false, waitsForTokens: use.Rate is null);
        return new KeyedGuard(guard, use);
    }

    private PlaceUser UserOf(SharedConcurrencyLimit limit) => _users.GetValue(limit, made => new PlaceUser(made, _most));

    private static KeyedPolicies<TItem> PoliciesOf(ParallelRunOptions options) =>
        new(options.CircuitBreaker, options.ConcurrencyLimit, options.RateLimit);
}

/// <summary>The policies of one attempt, while it uses those of its keys.</summary>
internal sealed class KeyedGuard(AttemptGuard guard, KeyedUse use)
{
    public AttemptGuard Guard => guard;

    public void Release() => use.Release();
}
