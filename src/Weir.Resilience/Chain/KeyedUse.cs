namespace Weir.Resilience;

/// <summary>The policies of an item's keys, which are not forgotten while they are in use. Released once.</summary>
internal struct KeyedUse
{
    public KeyUse<CircuitBreaker>? Breaker;
    public KeyUse<SharedConcurrencyLimit>? Limit;
    public KeyUse<TokenBucket>? Rate;

    /// <summary>A rate limit of another kind, which needs no release.</summary>
    public IRateLimit? OtherRate;

    public readonly void Release()
    {
        Breaker?.Release();
        Limit?.Release();
        Rate?.Release();
    }
}
