using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>
/// What the option <c>CircuitBreaker</c> of a run or a chain takes: <see cref="CircuitBreakerOptions"/> for a circuit breaker of its own, a
/// <see cref="CircuitBreaker"/> that is shared with other runs, chains and calls, or one for each key from
/// <see cref="CircuitBreakers.ByKey{TItem, TKey}"/>. Any other type is refused.
/// </summary>
[SuppressMessage("Design", "CA1040:Avoid empty interfaces", Justification = "It says what an option takes; a base class would give its types no member.")]
public interface ICircuitBreakerSetting;
