using System.Diagnostics;
using Weir.Resilience;

namespace Weir;

/// <summary>Checks arguments and options. Each message is one clear sentence with the name, the allowed range and the value.</summary>
internal static class Require
{
    // The longest time that timers accept. Anything longer is probably in the wrong unit.
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    [StackTraceHidden]
    public static void AtLeastOne(int value, string name)
    {
        if (value < 1)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be at least 1.");
        }
    }

    /// <summary>Turns the platform's value for no time limit into <see langword="null"/>.</summary>
    public static TimeSpan? NoneIfInfinite(TimeSpan? timeout) => timeout == System.Threading.Timeout.InfiniteTimeSpan ? null : timeout;

    [StackTraceHidden]
    public static void Timeout(TimeSpan? value, string name)
    {
        if (value is { } timeout && !IsInRange(timeout))
        {
            throw new ArgumentOutOfRangeException(
                name, value, $"{name} must be more than zero and at most {LongestTimeout.TotalDays:F0} days, or null for none.");
        }
    }

    /// <summary>A time span that must be positive and finite.</summary>
    [StackTraceHidden]
    public static void Length(TimeSpan value, string name)
    {
        if (!IsInRange(value))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be more than zero and at most {LongestTimeout.TotalDays:F0} days.");
        }
    }

    /// <summary>An interval, which may be infinite.</summary>
    [StackTraceHidden]
    public static void Interval(TimeSpan value, string name)
    {
        if (value != System.Threading.Timeout.InfiniteTimeSpan && !IsInRange(value))
        {
            throw new ArgumentOutOfRangeException(
                name,
                value,
                $"{name} must be more than zero and at most {LongestTimeout.TotalDays:F0} days, or Timeout.InfiniteTimeSpan for the final report only.");
        }
    }

    [StackTraceHidden]
    public static void GracePeriod(TimeSpan value, string name)
    {
        if (value != System.Threading.Timeout.InfiniteTimeSpan && (value < TimeSpan.Zero || value > LongestTimeout))
        {
            throw new ArgumentOutOfRangeException(
                name, value, $"{name} must be from zero to {LongestTimeout.TotalDays:F0} days, or Timeout.InfiniteTimeSpan to wait for as long as it takes.");
        }
    }

    [StackTraceHidden]
    public static void Defined(ErrorMode value, string name)
    {
        if (value is not (ErrorMode.FailFast or ErrorMode.CollectAndContinue or ErrorMode.BestEffort))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be FailFast, CollectAndContinue or BestEffort.");
        }
    }

    [StackTraceHidden]
    public static void Defined(OpenCircuitMode value, string name)
    {
        if (value is not (OpenCircuitMode.FailFast or OpenCircuitMode.WaitForHalfOpen))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be FailFast or WaitForHalfOpen.");
        }
    }

    [StackTraceHidden]
    public static void NotBoth(object? own, object? shared, string ownName, string sharedName)
    {
        if (own is not null && shared is not null)
        {
            throw new ArgumentException($"{ownName} and {sharedName} are both set; set only one of them.", sharedName);
        }
    }

    private static bool IsInRange(TimeSpan length) => length > TimeSpan.Zero && length <= LongestTimeout;
}
