using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>Values in the binary form of the server, by the type that they are sent like.</summary>
internal static class ValueReader
{
    private const int DaysTo2000 = 730119;
    private static readonly long TicksTo2000 = new DateTime(2000, 1, 1, 0, 0, 0, DateTimeKind.Utc).Ticks;

    public static string Text(ReadOnlySpan<byte> bytes) => Encoding.UTF8.GetString(bytes);

    public static object Read(uint type, ReadOnlySpan<byte> bytes) => type switch
    {
        TypeOid.Bool => bytes[0] != 0,
        TypeOid.Int2 => BinaryPrimitives.ReadInt16BigEndian(bytes),
        TypeOid.Int4 => BinaryPrimitives.ReadInt32BigEndian(bytes),
        TypeOid.Int8 => BinaryPrimitives.ReadInt64BigEndian(bytes),
        TypeOid.Oid => BinaryPrimitives.ReadUInt32BigEndian(bytes),
        TypeOid.Float4 => BinaryPrimitives.ReadSingleBigEndian(bytes),
        TypeOid.Float8 => BinaryPrimitives.ReadDoubleBigEndian(bytes),
        TypeOid.Numeric => Decimal(bytes),
        TypeOid.Uuid => new Guid(bytes, bigEndian: true),
        TypeOid.Date => Date(bytes),
        TypeOid.Time => new TimeOnly(BinaryPrimitives.ReadInt64BigEndian(bytes) % 86_400_000_000 * 10),
        TypeOid.Timestamp => Time(bytes, DateTimeKind.Unspecified),
        TypeOid.TimestampTz => Time(bytes, DateTimeKind.Utc),
        TypeOid.Interval => Interval(bytes),
        _ when IsText(type) => Text(TextOf(type, bytes)),
        _ => TypeOid.ElementOf(type) is > 0 and uint element ? ArrayReader.Read(element, bytes) : bytes.ToArray(),
    };

    /// <summary>Reads a value as a type, which the compiler knows at each place: none of the branches is there at run time.</summary>
    public static bool TryGet<T>(uint type, ReadOnlySpan<byte> bytes, out T? value)
    {
        if (typeof(T) == typeof(int) || typeof(T) == typeof(int?))
        {
            return As(type == TypeOid.Int4, type == TypeOid.Int4 ? BinaryPrimitives.ReadInt32BigEndian(bytes) : default, out value);
        }

        if (typeof(T) == typeof(long) || typeof(T) == typeof(long?))
        {
            return As(type == TypeOid.Int8, type == TypeOid.Int8 ? BinaryPrimitives.ReadInt64BigEndian(bytes) : default, out value);
        }

        if (typeof(T) == typeof(string))
        {
            string? text = IsText(type) ? Text(TextOf(type, bytes)) : type == TypeOid.Numeric ? NumericText.Read(bytes) : null;
            value = (T?)(object?)text;
            return text is not null;
        }

        if (typeof(T) == typeof(byte[]))
        {
            value = (T)(object)bytes.ToArray();
            return true;
        }

        if (typeof(T).IsArray && TypeOid.ElementOf(type) is > 0 and uint element)
        {
            object? array = ArrayReader.ReadAs<T>(element, bytes);
            value = (T?)array;
            return array is not null;
        }

        if (Read(type, bytes) is T other)
        {
            value = other;
            return true;
        }

        value = default;
        return false;
    }

    private static bool As<TFrom, T>(bool isIt, TFrom from, out T? value)
        where TFrom : struct
    {
        // A struct that is boxed as T and unboxed at once is not boxed at all.
        value = isIt ? (T)(object)from : default;
        return isIt;
    }

    private static bool IsText(uint type) =>
        type is TypeOid.Text or TypeOid.Varchar or TypeOid.Bpchar or TypeOid.Name or TypeOid.Char or TypeOid.Json or TypeOid.Jsonb or TypeOid.Xml;

    // Binary jsonb has a version in front.
    private static ReadOnlySpan<byte> TextOf(uint type, ReadOnlySpan<byte> bytes) => type == TypeOid.Jsonb ? bytes[1..] : bytes;

    private static decimal Decimal(ReadOnlySpan<byte> bytes)
    {
        string text = NumericText.Read(bytes);
        return decimal.TryParse(text, NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out decimal value)
            ? value
            : throw new OverflowException($"The numeric {text} does not fit into a decimal: read it with Get<string>.");
    }

    private static DateOnly Date(ReadOnlySpan<byte> bytes) => BinaryPrimitives.ReadInt32BigEndian(bytes) switch
    {
        int.MaxValue => DateOnly.MaxValue,
        int.MinValue => DateOnly.MinValue,
        int days => DateOnly.FromDayNumber(checked(DaysTo2000 + days)),
    };

    private static DateTime Time(ReadOnlySpan<byte> bytes, DateTimeKind kind) => BinaryPrimitives.ReadInt64BigEndian(bytes) switch
    {
        long.MaxValue => DateTime.SpecifyKind(DateTime.MaxValue, kind),
        long.MinValue => DateTime.SpecifyKind(DateTime.MinValue, kind),
        long microseconds => new DateTime(checked(TicksTo2000 + (microseconds * 10)), kind),
    };

    private static NpgsqlInterval Interval(ReadOnlySpan<byte> bytes) => new(
        BinaryPrimitives.ReadInt32BigEndian(bytes[12..]), BinaryPrimitives.ReadInt32BigEndian(bytes[8..]), BinaryPrimitives.ReadInt64BigEndian(bytes));
}
