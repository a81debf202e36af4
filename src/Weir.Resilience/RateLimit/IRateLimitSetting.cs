using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>
/// What the option <c>RateLimit</c> of a run or a chain takes: <see cref="RateLimitOptions"/> for a rate limit of its own, a <see cref="TokenBucket"/> or
/// another <see cref="IRateLimit"/> that is shared with other runs, chains and calls, or one for each key from
/// <see cref="RateLimits.ByKey{TItem, TKey}"/>. Any other type is refused.
/// </summary>
[SuppressMessage("Design", "CA1040:Avoid empty interfaces", Justification = "It says what an option takes; a base class would give its types no member.")]
public interface IRateLimitSetting;
