using System.Globalization;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>Reads values in the text form of the server, by their built-in type.</summary>
internal static class ValueText
{
    // Some types have several text forms: these settings choose one. The time zone is UTC.
    private static readonly string[] Settings = ["datestyle=ISO", "intervalstyle=postgres", "extra_float_digits=3", "bytea_output=hex"];

    /// <summary>The options of a connection whose values are read here.</summary>
    public static string ConnectionOptions => string.Join(' ', Settings.Select(static s => $"-c {s}"));

    /// <summary>The same, for a transaction.</summary>
    public static string TransactionSettings => string.Join("; ", Settings.Append("timezone=UTC").Select(static s => $"SET LOCAL {s}"));

    /// <param name="type">The built-in type; 0 for all others.</param>
    /// <param name="text">The value.</param>
    /// <param name="asNullable">Whether an array has nullable elements although none is null.</param>
    /// <exception cref="OverflowException">The value does not fit into its .NET type.</exception>
    public static object Read(uint type, string text, bool asNullable) => type switch
    {
        TypeOid.Bool => text == "t",
        TypeOid.Int2 => short.Parse(text, CultureInfo.InvariantCulture),
        TypeOid.Int4 => int.Parse(text, CultureInfo.InvariantCulture),
        TypeOid.Int8 => long.Parse(text, CultureInfo.InvariantCulture),
        TypeOid.Oid => uint.Parse(text, CultureInfo.InvariantCulture),
        TypeOid.Float4 => float.Parse(text, CultureInfo.InvariantCulture),
        TypeOid.Float8 => double.Parse(text, CultureInfo.InvariantCulture),
        TypeOid.Numeric => decimal.TryParse(
            text, NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out decimal number)
            ? number
            : throw NoPlace(text),
        TypeOid.Uuid => Guid.Parse(text),
        TypeOid.Bytea => Convert.FromHexString(text.AsSpan(2)),
        TypeOid.Date => Date(text),
        TypeOid.Time => text == "24:00:00" ? TimeOnly.MinValue : TimeOnly.ParseExact(text, "HH:mm:ss.FFFFFF", CultureInfo.InvariantCulture),
        TypeOid.Timestamp => Time(text, "yyyy-MM-dd HH:mm:ss.FFFFFF", DateTimeKind.Unspecified),
        TypeOid.TimestampTz => Time(text, "yyyy-MM-dd HH:mm:ss.FFFFFF'+00'", DateTimeKind.Utc),
        TypeOid.Interval => Interval(text),
        _ => TypeOid.ElementOf(type) is > 0 and uint element ? ArrayText.Read(element, text, asNullable) ?? text : text,
    };

    private static DateOnly Date(string text) => text switch
    {
        "infinity" => DateOnly.MaxValue,
        "-infinity" => DateOnly.MinValue,
        _ => DateOnly.TryParseExact(text, "yyyy-MM-dd", CultureInfo.InvariantCulture, DateTimeStyles.None, out DateOnly date) ? date : throw NoPlace(text),
    };

    private static DateTime Time(string text, string format, DateTimeKind kind) => DateTime.SpecifyKind(
        text switch
        {
            "infinity" => DateTime.MaxValue,
            "-infinity" => DateTime.MinValue,
            _ => DateTime.TryParseExact(text, format, CultureInfo.InvariantCulture, DateTimeStyles.None, out DateTime time) ? time : throw NoPlace(text),
        },
        kind);

    /// <summary>Reads an interval such as <c>-1 years +2 mons 3 days -04:05:06.7</c>.</summary>
    private static NpgsqlInterval Interval(string text)
    {
        int months = 0;
        int days = 0;
        long microseconds = 0;
        string[] words = text.Split(' ');
        for (int i = 0; i < words.Length; i++)
        {
            if (words[i].Split(':') is [string hours, string minutes, string seconds])
            {
                decimal time = Math.Abs(Number(hours) * 3600) + (Number(minutes) * 60) + Number(seconds);
                microseconds = (long)(time * 1_000_000) * (hours[0] == '-' ? -1 : 1);
                continue;
            }

            // Those of the future have no end, and no unit.
            int number = i + 1 < words.Length ? (int)Number(words[i]) : throw NoPlace(text);
            string unit = words[++i];
            months += unit.StartsWith("year", StringComparison.Ordinal) ? 12 * number : unit.StartsWith("mon", StringComparison.Ordinal) ? number : 0;
            days += unit.StartsWith("day", StringComparison.Ordinal) ? number : 0;
        }

        return new NpgsqlInterval(months, days, microseconds);
    }

    private static decimal Number(string text) =>
        decimal.Parse(text, NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture);

    private static OverflowException NoPlace(string text) => new($"The value {text} does not fit into its .NET type: read it with Get<string>.");
}
