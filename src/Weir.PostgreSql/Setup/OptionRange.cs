namespace Weir.PostgreSql;

/// <summary>Checks values of options.</summary>
internal static class OptionRange
{
    public static void Check<T>(bool isInRange, T value, string name, string range)
    {
        if (!isInRange)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range}.");
        }
    }
}
