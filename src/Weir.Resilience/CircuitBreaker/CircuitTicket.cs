using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>The permission of a <see cref="CircuitBreaker"/> for one call. Return it once, with the call's outcome.</summary>
/// <remarks>
/// It carries the generation of the breaker's state, so that the outcome of a call that began in an older state changes nothing in a newer one. The default
/// value belongs to no generation and is ignored.
/// </remarks>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Tickets are handed back, not compared.")]
public readonly struct CircuitTicket
{
    internal CircuitTicket(long era) => Era = era;

    /// <summary>The breaker's word when the call entered, without its count: the generation and the state.</summary>
    internal long Era { get; }
}
