using System.Diagnostics;

namespace Weir.Resilience;

/// <summary>Checks options. Each message is one clear sentence with the name, the allowed range and the value.</summary>
internal static class Require
{
    [StackTraceHidden]
    public static void AtLeast(int minimum, int value, string name)
    {
        if (value < minimum)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be at least {minimum}.");
        }
    }

    [StackTraceHidden]
    public static void Positive(double value, string name)
    {
        if (!(value > 0) || double.IsInfinity(value))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be a finite number more than zero.");
        }
    }

    /// <summary>Turns the platform's value for no time limit into <see langword="null"/>.</summary>
    public static TimeSpan? NoneIfInfinite(TimeSpan? timeout) => timeout == Timeout.InfiniteTimeSpan ? null : timeout;

    [StackTraceHidden]
    public static void Positive(TimeSpan? value, string name)
    {
        if (value is { } span && (span <= TimeSpan.Zero || span > TimerDelay.Longest))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be more than zero and at most {TimerDelay.Longest.TotalDays:F0} days.");
        }
    }

    [StackTraceHidden]
    public static void NotNegative(TimeSpan value, string name)
    {
        if (value < TimeSpan.Zero || value > TimerDelay.Longest)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be from zero to {TimerDelay.Longest.TotalDays:F0} days.");
        }
    }

    [StackTraceHidden]
    public static void AtLeast(TimeSpan minimum, TimeSpan value, string name, string minimumName)
    {
        if (value < minimum)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be at least {minimumName}, which is {minimum}.");
        }
    }

    /// <summary>An enumeration value. The caller knows whether it is defined.</summary>
    [StackTraceHidden]
    public static void Named<T>(bool isNamed, T value, string name)
        where T : struct, Enum
    {
        if (!isNamed)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be one of the named strategies.");
        }
    }
}
