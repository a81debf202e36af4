using System.Globalization;
using System.Text;
using System.Text.Json;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>Reads values in the text form of the server, by their built-in type.</summary>
internal static class ValueText
{
    // Some types have several text forms: these settings choose one. The time zone is UTC.
    private static readonly string[] Settings = ["datestyle=ISO", "intervalstyle=postgres", "extra_float_digits=3", "bytea_output=hex"];

    /// <summary>The options of a connection whose values are read here.</summary>
    public static string ConnectionOptions => string.Join(' ', Settings.Select(static s => $"-c {s}"));

    /// <summary>The statements that begin a transaction whose values are read here.</summary>
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

/// <summary>One-dimensional arrays in the text form of the server, such as <c>{1,NULL}</c> or <c>[2:3]={"a b","\""}</c>.</summary>
internal static class ArrayText
{
    /// <summary>Reads an array of the type that its elements have, or of nullable ones; null if it has more than one dimension.</summary>
    public static object? Read(uint element, string text, bool asNullable) => Split(text) is not { } texts ? null : element switch
    {
        TypeOid.Bool => Values<bool>(element, texts, asNullable),
        TypeOid.Int2 => Values<short>(element, texts, asNullable),
        TypeOid.Int4 => Values<int>(element, texts, asNullable),
        TypeOid.Int8 => Values<long>(element, texts, asNullable),
        TypeOid.Oid => Values<uint>(element, texts, asNullable),
        TypeOid.Float4 => Values<float>(element, texts, asNullable),
        TypeOid.Float8 => Values<double>(element, texts, asNullable),
        TypeOid.Numeric => Values<decimal>(element, texts, asNullable),
        TypeOid.Uuid => Values<Guid>(element, texts, asNullable),
        TypeOid.Date => Values<DateOnly>(element, texts, asNullable),
        TypeOid.Time => Values<TimeOnly>(element, texts, asNullable),
        TypeOid.Timestamp or TypeOid.TimestampTz => Values<DateTime>(element, texts, asNullable),
        TypeOid.Interval => Values<NpgsqlInterval>(element, texts, asNullable),
        TypeOid.Bytea => texts.ConvertAll(static t => t is null ? null : (byte[])ValueText.Read(TypeOid.Bytea, t, false)).ToArray(),
        _ => texts.ToArray(),
    };

    private static object Values<T>(uint element, List<string?> texts, bool asNullable)
        where T : struct
    {
        T Value(string? text) => (T)ValueText.Read(element, text!, false);
        return asNullable || texts.Contains(null)
            ? texts.ConvertAll(t => t is null ? (T?)null : Value(t)).ToArray()
            : texts.ConvertAll(Value).ToArray();
    }

    /// <summary>The texts of the elements; null if there is more than one dimension.</summary>
    private static List<string?>? Split(string text)
    {
        List<string?> elements = [];

        // The first and last index stand in front if the first is not 1.
        int at = text.IndexOf('{') + 1;
        while (text[at] != '}')
        {
            if (text[at] == '{')
            {
                return null;
            }

            elements.Add(QuotedText.Read(text, ref at, ',', '}', "NULL"));
            at += text[at] == ',' ? 1 : 0;
        }

        return elements;
    }
}

/// <summary>Elements of arrays and fields of composite values, which have a text of their own inside that of the whole.</summary>
internal static class QuotedText
{
    /// <summary>Reads the text that begins at a place, and moves to the delimiter or end behind it.</summary>
    /// <param name="text">The whole.</param>
    /// <param name="at">The place.</param>
    /// <param name="delimiter">What is between two of them.</param>
    /// <param name="end">What is behind the last.</param>
    /// <param name="nullText">How null is written, which has no quotes.</param>
    public static string? Read(string text, ref int at, char delimiter, char end, string nullText)
    {
        int start = at;
        if (text[at] != '"')
        {
            at = start + text.AsSpan(start).IndexOfAny(delimiter, end);
            string plain = text[start..at];
            return plain == nullText ? null : plain;
        }

        // A quote is doubled in a composite value, and behind a backslash in an array.
        var unquoted = new StringBuilder();
        for (at++; text[at] != '"' || text[at + 1] == '"'; at++)
        {
            at += text[at] is '\\' or '"' ? 1 : 0;
            unquoted.Append(text[at]);
        }

        at++;
        return unquoted.ToString();
    }
}

/// <summary>Writes texts of the server as JSON: as its <c>to_jsonb</c> makes it of the values, with times in UTC.</summary>
internal static class JsonText
{
    public static void Write(Utf8JsonWriter writer, TypeShape shape, string? text)
    {
        if (text is null)
        {
            writer.WriteNullValue();
        }
        else if (shape.Fields is { } fields)
        {
            WriteFields(writer, fields, text);
        }
        else if (shape.BaseOid is TypeOid.Int2Vector or TypeOid.OidVector)
        {
            WriteVector(writer, shape.Element!, text);
        }
        else if (shape.Element is { } element)
        {
            WriteArray(writer, element, shape.Delimiter, text);
        }
        else
        {
            WriteScalar(writer, shape.BaseOid, text);
        }
    }

    private static void WriteScalar(Utf8JsonWriter writer, uint type, string text)
    {
        switch (type)
        {
            case TypeOid.Bool:
                writer.WriteBooleanValue(text == "t");
                break;

            // All but NaN and the infinite ones are written as JSON has numbers, with all digits.
            case TypeOid.Int2 or TypeOid.Int4 or TypeOid.Int8 or TypeOid.Float4 or TypeOid.Float8 or TypeOid.Numeric when char.IsAsciiDigit(text[^1]):
                writer.WriteRawValue(text, skipInputValidation: true);
                break;

            // Line breaks are between its parts only, and a line has none.
            case TypeOid.Json or TypeOid.Jsonb:
                writer.WriteRawValue(text.Replace('\n', ' ').Replace('\r', ' '), skipInputValidation: true);
                break;
            case TypeOid.Timestamp or TypeOid.TimestampTz when text.IndexOf(' ', StringComparison.Ordinal) is > 0 and int space:
                writer.WriteStringValue($"{text.AsSpan(0, space)}T{text[(space + 1)..].Replace("+00", "+00:00", StringComparison.Ordinal)}");
                break;
            default:
                writer.WriteStringValue(text);
                break;
        }
    }

    private static void WriteArray(Utf8JsonWriter writer, TypeShape element, char delimiter, string text)
    {
        // The first and last index of each dimension stand in front if the first is not 1.
        int at = text.IndexOf('{', StringComparison.Ordinal);
        while (at < text.Length)
        {
            if (text[at] == '{')
            {
                writer.WriteStartArray();
                at++;
            }
            else if (text[at] == '}')
            {
                writer.WriteEndArray();
                at++;
            }
            else if (text[at] == delimiter)
            {
                at++;
            }
            else
            {
                Write(writer, element, QuotedText.Read(text, ref at, delimiter, '}', "NULL"));
            }
        }
    }

    private static void WriteVector(Utf8JsonWriter writer, TypeShape element, string text)
    {
        writer.WriteStartArray();
        foreach (string one in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            Write(writer, element, one);
        }

        writer.WriteEndArray();
    }

    private static void WriteFields(Utf8JsonWriter writer, IReadOnlyList<(string Name, TypeShape Shape)> fields, string text)
    {
        List<string?> values = [];
        for (int at = 0; fields.Count > 0 && text[at] != ')';)
        {
            at++;
            values.Add(QuotedText.Read(text, ref at, ',', ')', ""));
        }

        if (values.Count != fields.Count)
        {
            // The type has been altered since its fields were read.
            writer.WriteStringValue(text);
            return;
        }

        writer.WriteStartObject();
        for (int i = 0; i < values.Count; i++)
        {
            writer.WritePropertyName(fields[i].Name);
            Write(writer, fields[i].Shape, values[i]);
        }

        writer.WriteEndObject();
    }
}

/// <summary>The built-in types whose values have a format of their own, or are frequent.</summary>
internal static class TypeOid
{
    public const uint Bool = 16;
    public const uint Bytea = 17;
    public const uint Int8 = 20;
    public const uint Int2 = 21;
    public const uint Int2Vector = 22;
    public const uint Int4 = 23;
    public const uint Text = 25;
    public const uint Oid = 26;
    public const uint OidVector = 30;
    public const uint Json = 114;
    public const uint Float4 = 700;
    public const uint Float8 = 701;
    public const uint TextArray = 1009;
    public const uint Bpchar = 1042;
    public const uint Varchar = 1043;
    public const uint Date = 1082;
    public const uint Time = 1083;
    public const uint Timestamp = 1114;
    public const uint TimestampTz = 1184;
    public const uint Interval = 1186;
    public const uint Numeric = 1700;
    public const uint Uuid = 2950;
    public const uint Jsonb = 3802;

    /// <summary>Types from this OID on were created in the database.</summary>
    public const uint FirstOfDatabase = 16384;

    /// <summary>The type of the elements of a built-in array; 0 for all others.</summary>
    public static uint ElementOf(uint type) => type switch
    {
        1000 => Bool,
        1001 => Bytea,
        1005 => Int2,
        1007 => Int4,
        1016 => Int8,
        1021 => Float4,
        1022 => Float8,
        1028 => Oid,
        1115 => Timestamp,
        1182 => Date,
        1183 => Time,
        1185 => TimestampTz,
        1187 => Interval,
        1231 => Numeric,
        2951 => Uuid,

        // xml, json, name, text, char(n), varchar, jsonb
        143 or 199 or 1003 or TextArray or 1014 or 1015 or 3807 => Text,
        _ => 0,
    };
}

/// <summary>What the text of a type's values is made of. That of a domain is that of its base. Immutable.</summary>
internal sealed class TypeShape
{
    /// <summary>Of values that are their text.</summary>
    public static TypeShape Text { get; } = new();

    /// <summary>The built-in type whose format the values have; 0 if there is none.</summary>
    public uint BaseOid { get; init; }

    /// <summary>The elements of an array; null for all others.</summary>
    public TypeShape? Element { get; init; }

    /// <summary>What is between two elements.</summary>
    public char Delimiter { get; init; }

    /// <summary>The fields of a composite type; null for all others.</summary>
    public IReadOnlyList<(string Name, TypeShape Shape)>? Fields { get; init; }
}
