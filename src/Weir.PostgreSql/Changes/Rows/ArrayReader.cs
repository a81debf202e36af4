using System.Buffers.Binary;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>One-dimensional arrays in the binary form of the server.</summary>
internal static class ArrayReader
{
    /// <summary>Reads an array of the type that its elements have, or of nullable ones if one of them is null.</summary>
    public static object Read(uint element, ReadOnlySpan<byte> bytes) => element switch
    {
        TypeOid.Bool => Values<bool>(element, bytes),
        TypeOid.Int2 => Values<short>(element, bytes),
        TypeOid.Int4 => Values<int>(element, bytes),
        TypeOid.Int8 => Values<long>(element, bytes),
        TypeOid.Oid => Values<uint>(element, bytes),
        TypeOid.Float4 => Values<float>(element, bytes),
        TypeOid.Float8 => Values<double>(element, bytes),
        TypeOid.Numeric => Values<decimal>(element, bytes),
        TypeOid.Uuid => Values<Guid>(element, bytes),
        TypeOid.Date => Values<DateOnly>(element, bytes),
        TypeOid.Time => Values<TimeOnly>(element, bytes),
        TypeOid.Timestamp or TypeOid.TimestampTz => Values<DateTime>(element, bytes),
        TypeOid.Interval => Values<NpgsqlInterval>(element, bytes),
        TypeOid.Bytea => Elements<byte[]>(element, bytes),
        _ => Elements<string>(element, bytes),
    };

    /// <summary>Reads an array of exactly a type; null if it is another one.</summary>
    public static object? ReadAs<TArray>(uint element, ReadOnlySpan<byte> bytes)
    {
        object array = Read(element, bytes);
        if (array is TArray)
        {
            return array;
        }

        // Nullable elements were asked for, and none is null.
        return array switch
        {
            bool[] a when typeof(TArray) == typeof(bool?[]) => Array.ConvertAll(a, static v => (bool?)v),
            short[] a when typeof(TArray) == typeof(short?[]) => Array.ConvertAll(a, static v => (short?)v),
            int[] a when typeof(TArray) == typeof(int?[]) => Array.ConvertAll(a, static v => (int?)v),
            long[] a when typeof(TArray) == typeof(long?[]) => Array.ConvertAll(a, static v => (long?)v),
            double[] a when typeof(TArray) == typeof(double?[]) => Array.ConvertAll(a, static v => (double?)v),
            decimal[] a when typeof(TArray) == typeof(decimal?[]) => Array.ConvertAll(a, static v => (decimal?)v),
            Guid[] a when typeof(TArray) == typeof(Guid?[]) => Array.ConvertAll(a, static v => (Guid?)v),
            DateTime[] a when typeof(TArray) == typeof(DateTime?[]) => Array.ConvertAll(a, static v => (DateTime?)v),
            _ => null,
        };
    }

    private static object Values<T>(uint element, ReadOnlySpan<byte> bytes)
        where T : struct
    {
        T?[] values = Elements<T?>(element, bytes);
        return Array.TrueForAll(values, static v => v.HasValue) ? Array.ConvertAll(values, static v => v!.Value) : values;
    }

    private static T?[] Elements<T>(uint element, ReadOnlySpan<byte> bytes)
    {
        int dimensions = BinaryPrimitives.ReadInt32BigEndian(bytes);
        if (dimensions == 0)
        {
            return [];
        }

        if (dimensions > 1)
        {
            throw new NotSupportedException($"An array of {dimensions} dimensions is not decoded: read its bytes with Get<byte[]>.");
        }

        var values = new T?[BinaryPrimitives.ReadInt32BigEndian(bytes[12..])];
        int at = 20;
        for (int i = 0; i < values.Length; i++)
        {
            int length = BinaryPrimitives.ReadInt32BigEndian(bytes[at..]);
            at += 4;
            if (length >= 0)
            {
                values[i] = (T)ValueReader.Read(element, bytes.Slice(at, length));
                at += length;
            }
        }

        return values;
    }
}
