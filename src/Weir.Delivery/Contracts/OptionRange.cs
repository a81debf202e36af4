using System.Globalization;

namespace Weir.Delivery;

/// <summary>Checks values of options, and says in one sentence what is wrong with one.</summary>
internal static class OptionRange
{
    /// <exception cref="ArgumentOutOfRangeException">The value is not in its range.</exception>
    public static void Check<T>(bool isInRange, T value, string name, string range)
    {
        if (!isInRange)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range}.");
        }
    }

    /// <summary>The sentence, for callers that report all problems at once; null if the value is in range.</summary>
    public static string? Find<T>(bool isInRange, T value, string name, string range) =>
        isInRange ? null : string.Create(CultureInfo.InvariantCulture, $"{name} must be {range}; it is {value}.");
}
