using System.Buffers.Binary;

namespace Weir.PostgreSql;

/// <summary>
/// Rows in the protocol of pgoutput: the number of columns, and for each a letter (n null, u unchanged, t text, b binary), a length and the bytes.
/// </summary>
internal static class TupleFormat
{
    /// <summary>The first byte after a row.</summary>
    public static int End(ReadOnlySpan<byte> data, int start)
    {
        int columns = BinaryPrimitives.ReadInt16BigEndian(data[start..]);
        int at = start + 2;
        for (int i = 0; i < columns; i++)
        {
            at = Next(data, at);
        }

        return at;
    }

    /// <summary>Where the letter of each column is.</summary>
    public static int[] Places(ReadOnlySpan<byte> data, int start)
    {
        var places = new int[BinaryPrimitives.ReadInt16BigEndian(data[start..])];
        int at = start + 2;
        for (int i = 0; i < places.Length; i++)
        {
            places[i] = at;
            at = Next(data, at);
        }

        return places;
    }

    private static int Next(ReadOnlySpan<byte> data, int at) => data[at] switch
    {
        (byte)'n' or (byte)'u' => at + 1,
        (byte)'t' or (byte)'b' => at + 5 + BinaryPrimitives.ReadInt32BigEndian(data[(at + 1)..]),
        byte other => throw new InvalidDataException($"A row of the replication stream has a column of the unknown kind {other}."),
    };
}
