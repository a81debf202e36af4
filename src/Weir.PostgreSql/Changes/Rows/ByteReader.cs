using System.Buffers.Binary;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>Reads a message of the replication protocol from its beginning to its end.</summary>
internal ref struct ByteReader(ReadOnlySpan<byte> bytes)
{
    private readonly ReadOnlySpan<byte> _bytes = bytes;

    public int Position { get; private set; }

    public byte Byte() => _bytes[Position++];

    public short Int16() => BinaryPrimitives.ReadInt16BigEndian(Take(2));

    public int Int32() => BinaryPrimitives.ReadInt32BigEndian(Take(4));

    public uint UInt32() => BinaryPrimitives.ReadUInt32BigEndian(Take(4));

    public long Int64() => BinaryPrimitives.ReadInt64BigEndian(Take(8));

    public ulong UInt64() => BinaryPrimitives.ReadUInt64BigEndian(Take(8));

    /// <summary>A text that ends with a zero.</summary>
    public string Text()
    {
        int length = _bytes[Position..].IndexOf((byte)0);
        string text = Encoding.UTF8.GetString(_bytes.Slice(Position, length));
        Position += length + 1;
        return text;
    }

    /// <summary>A time: microseconds since 2000.</summary>
    public DateTimeOffset Time() => new DateTimeOffset(2000, 1, 1, 0, 0, 0, TimeSpan.Zero).AddTicks(Int64() * 10);

    /// <summary>Passes over a row.</summary>
    /// <returns>Where it begins.</returns>
    public int Tuple()
    {
        int start = Position;
        Position = TupleFormat.End(_bytes, start);
        return start;
    }

    private ReadOnlySpan<byte> Take(int count)
    {
        ReadOnlySpan<byte> taken = _bytes.Slice(Position, count);
        Position += count;
        return taken;
    }
}
