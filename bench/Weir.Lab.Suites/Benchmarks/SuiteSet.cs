namespace Weir.Lab.Suites;

/// <summary>Suites that share a page of results.</summary>
public enum SuiteSet
{
    /// <summary>The operators.</summary>
    Core,

    /// <summary>The blocks.</summary>
    Dataflow,

    /// <summary>Retry, circuit breaker, rate limit, time limits and fallback, and the adaptive limit.</summary>
    Resilience,
}
