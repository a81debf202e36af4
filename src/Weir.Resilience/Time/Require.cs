using System.Diagnostics;
using Weir.Resilience;

namespace Weir;

/// <summary>Checks arguments and options. Each message is one clear sentence with the name, the allowed range and the value.</summary>
internal static class Require
{
    [StackTraceHidden]
    public static void AtLeastOne(int value, string name) => AtLeast(1, value, name);

    [StackTraceHidden]
    public static void AtLeast(int minimum, int value, string name)
    {
        if (value < minimum)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be at least {minimum}.");
        }
    }

    /// <summary>A value whose range is a sentence of its own.</summary>
    [StackTraceHidden]
    public static void Range<T>(bool isInRange, T value, string name, string range)
    {
        if (!isInRange)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range}.");
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

    [StackTraceHidden]
    public static void Positive(double value, string name)
    {
        if (!(value > 0) || double.IsInfinity(value))
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be a finite number more than zero.");
        }
    }

    /// <summary>Turns the platform's value for no time limit into <see langword="null"/>.</summary>
    public static TimeSpan? NoneIfInfinite(TimeSpan? timeout) => timeout == System.Threading.Timeout.InfiniteTimeSpan ? null : timeout;

    /// <summary>A time span that must be positive and finite.</summary>
    [StackTraceHidden]
    public static void Positive(TimeSpan? value, string name) => InRange(value, name, canBeZero: false, "");

    /// <summary>A time limit, which may be absent.</summary>
    [StackTraceHidden]
    public static void Timeout(TimeSpan? value, string name) => InRange(value, name, canBeZero: false, ", or null for none");

    /// <summary>An interval, which may be infinite.</summary>
    [StackTraceHidden]
    public static void Interval(TimeSpan value, string name) =>
        InRange(NoneIfInfinite(value), name, canBeZero: false, ", or Timeout.InfiniteTimeSpan for the final report only");

    [StackTraceHidden]
    public static void NotNegative(TimeSpan value, string name) => InRange(value, name, canBeZero: true, "");

    [StackTraceHidden]
    public static void GracePeriod(TimeSpan value, string name) =>
        InRange(NoneIfInfinite(value), name, canBeZero: true, ", or Timeout.InfiniteTimeSpan to wait for as long as it takes");

    /// <summary>What the caller throws for an enumeration value that is not defined. A generic check would be compiled in each process.</summary>
    public static ArgumentOutOfRangeException Undefined(object value, string name, string values) => new(name, value, $"{name} must be {values}.");

    [StackTraceHidden]
    public static void NotBoth(object? own, object? shared, string ownName, string sharedName)
    {
        if (own is not null && shared is not null)
        {
            throw new ArgumentException($"{ownName} and {sharedName} are both set; set only one of them.", sharedName);
        }
    }

    /// <summary>A property that has a meaning only together with another.</summary>
    [StackTraceHidden]
    public static void Other(object? value, object? needed, string name, string neededName, string orElse = "")
    {
        if (value is not null && needed is null)
        {
            throw new ArgumentException($"{name} is set, which needs {neededName}; set that too{orElse}.", name);
        }
    }

    /// <summary>A name, which may be absent but not empty.</summary>
    [StackTraceHidden]
    public static void NotEmpty(string? value, string name)
    {
        if (value is { Length: 0 })
        {
            throw new ArgumentException($"{name} must be null or a text that is not empty.", name);
        }
    }

    /// <summary>Keys and values, which may be absent, but none of whose keys may be empty.</summary>
    [StackTraceHidden]
    public static void Keys(IReadOnlyList<KeyValuePair<string, object?>>? pairs, string name)
    {
        for (int i = 0; i < (pairs?.Count ?? 0); i++)
        {
            if (string.IsNullOrEmpty(pairs![i].Key))
            {
                throw new ArgumentException($"{name} must have no empty key, but the one at position {i} is empty.", name);
            }
        }
    }

    // Anything longer than timers accept is probably in the wrong unit.
    [StackTraceHidden]
    private static void InRange(TimeSpan? value, string name, bool canBeZero, string orElse)
    {
        if (value is { } span && (span < TimeSpan.Zero || span > TimerDelay.Longest || (span == TimeSpan.Zero && !canBeZero)))
        {
            string range = canBeZero ? "from zero to" : "more than zero and at most";
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range} {(int)TimerDelay.Longest.TotalDays} days{orElse}.");
        }
    }
}
