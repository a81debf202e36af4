using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>
/// What the option <c>ConcurrencyLimit</c> of a run or a chain takes: a <see cref="SharedConcurrencyLimit"/>, which other runs, chains and calls may share, or
/// one for each key from <see cref="ConcurrencyLimits.ByKey{TItem, TKey}"/>. Any other type is refused.
/// </summary>
[SuppressMessage("Design", "CA1040:Avoid empty interfaces", Justification = "It says what an option takes; a base class would give its types no member.")]
public interface IConcurrencyLimitSetting;
