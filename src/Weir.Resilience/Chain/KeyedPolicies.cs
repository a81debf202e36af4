namespace Weir.Resilience;

/// <summary>The policies by key of some options, which are those of any type of items, as those of the items here. Other policies are passed over.</summary>
/// <exception cref="ArgumentException">The keys are those of items of another type.</exception>
internal sealed class KeyedPolicies<TItem>(
    CircuitBreakerOptions? breakers, IConcurrencyLimitSetting? limits, RateLimitOptions? rates, RetryOptions? retry)
{
    private readonly IKeyed<TItem, CircuitBreaker>? _breakers = Typed<IKeyed<TItem, CircuitBreaker>>(breakers?.Instance, nameof(PolicyChainOptions.CircuitBreaker));

    private readonly IKeyed<TItem, SharedConcurrencyLimit>? _limits =
        Typed<IKeyed<TItem, SharedConcurrencyLimit>>(limits, nameof(PolicyChainOptions.ConcurrencyLimit));

    private readonly IItemRateLimits<TItem>? _otherRates = rates?.Instance as IItemRateLimits<TItem>;

    private readonly IKeyed<TItem, TokenBucket>? _rates =
        Typed<IKeyed<TItem, TokenBucket>>(rates?.Instance is IItemRateLimits<TItem> ? null : rates?.Instance, nameof(PolicyChainOptions.RateLimit));

    private readonly IKeyed<TItem, RetryBudget>? _budgets = Typed<IKeyed<TItem, RetryBudget>>(retry?.Budget, nameof(RetryOptions.Budget));

    /// <summary>The policies of an item's keys. Runs the user's functions, and throws what they throw.</summary>
    public KeyedUse Use(TItem item)
    {
        KeyedUse use = default;
        try
        {
            use.Breaker = _breakers?.Use(item);
            use.Limit = _limits?.Use(item);
            use.Rate = _rates?.Use(item);
            use.Budget = _budgets?.Use(item);
            use.OtherRate = _otherRates?.Of(item);
            return use;
        }
        catch
        {
            use.Release();
            throw;
        }
    }

    private static T? Typed<T>(object? setting, string property)
        where T : class
    {
        Type? items = setting switch
        {
            CircuitBreakers breakers => breakers.ItemType,
            ConcurrencyLimits limits => limits.ItemType,
            RateLimits rates => rates.ItemType,
            RetryBudgets budgets => budgets.ItemType,
            _ => null,
        };
        return items is null ? null : setting as T ?? throw new ArgumentException(
            $"{property} has the keys of items of type {items.Name}, but the items here are of type {typeof(TItem).Name}.", property);
    }
}

/// <summary>The policies of an item's keys, which are not forgotten while they are in use. Released once.</summary>
internal struct KeyedUse
{
    public KeyUse<CircuitBreaker>? Breaker;
    public KeyUse<SharedConcurrencyLimit>? Limit;
    public KeyUse<TokenBucket>? Rate;
    public KeyUse<RetryBudget>? Budget;

    /// <summary>A rate limit of another kind, which needs no release.</summary>
    public IRateLimit? OtherRate;

    public readonly void Release()
    {
        Breaker?.Release();
        Limit?.Release();
        Rate?.Release();
        Budget?.Release();
    }
}
