using System.Globalization;
using Microsoft.Extensions.Configuration;

namespace Weir.Hosting;

/// <summary>Reads settings of one kind of options, each of which says in one sentence what is wrong with it.</summary>
/// <typeparam name="TOptions">What the settings are written to.</typeparam>
internal static class SettingReaders<TOptions>
{
    public delegate string? Reader(TOptions options, IConfigurationSection setting);

    private delegate bool TryRead<TValue>(string? text, out TValue value);

    /// <summary>Reads all settings of a section.</summary>
    /// <returns>The first problem, or null.</returns>
    public static string? ReadAll(TOptions options, IConfigurationSection section, Dictionary<string, Reader> readers, string what)
    {
        foreach (IConfigurationSection setting in section.GetChildren())
        {
            string? problem = readers.TryGetValue(setting.Key, out Reader? read)
                ? read(options, setting)
                : $"{setting.Path} is not an option of {what}; the options are: {string.Join(", ", readers.Keys)}.";
            if (problem is not null)
            {
                return problem;
            }
        }

        return null;
    }

    public static Reader Whole(Action<TOptions, int> set) =>
        Read(
            (string? text, out int value) => int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value),
            set,
            "a whole number");

    public static Reader LongWhole(Action<TOptions, long> set) =>
        Read(
            (string? text, out long value) => long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value),
            set,
            "a whole number");

    public static Reader Number(Action<TOptions, double> set) =>
        Read(
            (string? text, out double value) => double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out value),
            set,
            "a number such as 2.5");

    public static Reader Time(Action<TOptions, TimeSpan> set) => Read<TimeSpan>(TryTime, set, "a time such as 00:00:30");

    public static Reader YesOrNo(Action<TOptions, bool> set) => Read<bool>(bool.TryParse, set, "true or false");

    public static Reader Text(Action<TOptions, string> set) =>
        Read(
            static (string? text, out string value) =>
            {
                value = text ?? "";
                return value.Length > 0;
            },
            set,
            "a text that is not empty");

    // The platform also accepts numbers instead of names.
    public static Reader Name<TEnum>(Action<TOptions, TEnum> set)
        where TEnum : struct, Enum =>
        Read(
            (string? text, out TEnum value) => Enum.TryParse(text, ignoreCase: true, out value) && Enum.GetNames<TEnum>().Contains(
                text, StringComparer.OrdinalIgnoreCase),
            set,
            string.Join(", ", Enum.GetNames<TEnum>()[..^1]) + " or " + Enum.GetNames<TEnum>()[^1]);

    /// <summary>Reads a setting that consists of settings.</summary>
    public static Reader Group(Func<TOptions, IConfigurationSection, string?> read) =>
        (options, setting) => string.IsNullOrEmpty(setting.Value)
            ? read(options, setting)
            : $"{setting.Path} must be a section with options of its own; it is '{setting.Value}'.";

    // The platform reads a number alone as days.
    public static bool TryTime(string? text, out TimeSpan value)
    {
        value = default;
        return text?.Contains(':', StringComparison.Ordinal) == true && TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out value);
    }

    private static Reader Read<TValue>(TryRead<TValue> tryRead, Action<TOptions, TValue> set, string allowed) =>
        (options, setting) =>
        {
            if (!tryRead(setting.Value, out TValue value))
            {
                return $"{setting.Path} must be {allowed}; it is '{setting.Value}'.";
            }

            set(options, value);
            return null;
        };
}

/// <summary>
/// Says in one sentence what is wrong with a value of options. A start reports all problems at once, and so nothing is thrown for one of them.
/// </summary>
internal static class OptionRange
{
    /// <returns>The sentence; null if the value is in its range.</returns>
    public static string? Find<T>(bool isInRange, T value, string name, string range) =>
        isInRange ? null : string.Create(CultureInfo.InvariantCulture, $"{name} must be {range}; it is {value}.");
}
