using System.Diagnostics;
using Weir.Resilience;

namespace Weir;

/// <summary>The checks of arguments and options: one clear sentence with the name, the allowed range and the value.</summary>
internal static class Require
{
    // What timers accept; anything longer is a mistake in the unit.
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    [StackTraceHidden]
    public static void AtLeastOne(int value, string name)
    {
        if (value < 1)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be at least 1.");
        }
    }

    [StackTraceHidden]
    public static void Timeout(TimeSpan? value, string name)
    {
        if (value is { } timeout && (timeout <= TimeSpan.Zero || timeout > LongestTimeout))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be more than zero and at most {LongestTimeout.TotalDays:F0} days, or null for none.");
        }
    }

    [StackTraceHidden]
    public static void NotNegative(TimeSpan value, string name)
    {
        if (value < TimeSpan.Zero || value > LongestTimeout)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be from zero to {LongestTimeout.TotalDays:F0} days.");
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
            throw new ArgumentException($"{ownName} and {sharedName} are both set: give one of them.", sharedName);
        }
    }
}
