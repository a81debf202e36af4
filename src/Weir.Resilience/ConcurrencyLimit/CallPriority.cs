namespace Weir.Resilience;

/// <summary>Which of the calls that wait at an <see cref="AdaptiveLimit"/> get a permit first.</summary>
/// <remarks>
/// A call passes those of a lower priority that wait, and when the queue is full, the last of them is refused in its place. A call ages: for each step between
/// two priorities, as many calls as may wait (at most 10,000) can pass it, and then no more. So none waits for ever.
/// With <see cref="AdaptiveLimitOptions.NewestFirst"/>, a newer call passes those of its own and of a lower priority, and no other.
/// </remarks>
public enum CallPriority
{
    /// <summary>Before all others: calls that a user waits for, or that others depend on.</summary>
    Critical = -1,

    /// <summary>The usual.</summary>
    Normal = 0,

    /// <summary>After all others, and refused first: what can be done later.</summary>
    Background = 1,
}
