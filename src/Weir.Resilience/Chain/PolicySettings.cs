using System.Diagnostics;

namespace Weir.Resilience;

/// <summary>Reads the options of runs and chains that take one's own policy, a shared one, or one for each key.</summary>
internal static class PolicySettings
{
    /// <exception cref="ArgumentException">It is of a type that is none of ours.</exception>
    [StackTraceHidden]
    public static void Validate(IConcurrencyLimitSetting? setting)
    {
        if (setting is not (null or SharedConcurrencyLimit or ConcurrencyLimits))
        {
            throw Unknown(setting, "ConcurrencyLimit", "a SharedConcurrencyLimit, or those of ConcurrencyLimits.ByKey");
        }
    }

    /// <summary>The one circuit breaker: the shared one, or a new one with the clock of its run or chain unless it has another.</summary>
    /// <param name="setting">The option, which is valid.</param>
    /// <param name="clock">The clock of the run or chain.</param>
    /// <param name="isCounted">Whether meters show a new one by itself. If not, they show it with its run.</param>
    /// <returns>The circuit breaker; null if there is none, or one for each key.</returns>
    public static CircuitBreaker? BreakerOf(CircuitBreakerOptions? setting, TimeProvider clock, bool isCounted)
    {
        if (setting is not { IsShared: false } own)
        {
            return setting?.Instance as CircuitBreaker;
        }

        own = own.TimeProvider == TimeProvider.System ? own with { TimeProvider = clock } : own;
        return isCounted ? new CircuitBreaker(own) : new CircuitBreaker(own, group: null);
    }

    /// <summary>The one rate limit: the shared one, or a new one. As <see cref="BreakerOf"/>.</summary>
    public static IRateLimit? RateLimitOf(RateLimitOptions? setting, TimeProvider clock, bool isCounted) => setting is { IsShared: false } own
        ? new TokenBucket(own.TimeProvider == TimeProvider.System ? own with { TimeProvider = clock } : own, isCounted)
        : setting?.Instance as IRateLimit;

    /// <summary>The same options with an own circuit breaker in their place, which several chains or runs then share.</summary>
    public static CircuitBreakerOptions? Made(CircuitBreakerOptions? setting, TimeProvider clock) =>
        setting is { IsShared: false } ? BreakerOf(setting, clock, isCounted: true) : setting;

    /// <summary>As <see cref="Made(CircuitBreakerOptions?, TimeProvider)"/>.</summary>
    public static RateLimitOptions? Made(RateLimitOptions? setting, TimeProvider clock) =>
        setting is { IsShared: false } ? RateLimitOptions.Shared(RateLimitOf(setting, clock, isCounted: true)!) : setting;

    private static ArgumentException Unknown(object setting, string name, string types) =>
        new($"{name} must be {types}; it is of type {setting.GetType().Name}.", name);
}
