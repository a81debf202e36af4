using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The policies of one attempt, while it uses those of its keys.</summary>
internal sealed class KeyedGuard(AttemptGuard guard, KeyUse<CircuitBreaker>? breaker, KeyUse<SharedConcurrencyLimit>? limit, KeyUse<TokenBucket>? rate)
{
    public AttemptGuard Guard => guard;

    public void Release()
    {
        breaker?.Release();
        limit?.Release();
        rate?.Release();
    }
}
