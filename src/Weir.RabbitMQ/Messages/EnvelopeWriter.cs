using System.Buffers;
using System.Buffers.Binary;
using System.Text;

namespace Weir.RabbitMQ;

/// <summary>Writes items into the body of a message, until it is taken, and then into the next.</summary>
/// <param name="pool">Where the bytes of a message come from.</param>
internal sealed class EnvelopeWriter(ArrayPool<byte> pool)
{
    private const int LeastBytes = 1024;

    private byte[] _buffer = [];
    private int _length;
    private string _lastOrigin = "";
    private int _lastIndex;
    private int _lastLength;
    private MessageName _name;

    public int Count { get; private set; }

    /// <summary>Where the bytes of a message that is taken go back to.</summary>
    public ArrayPool<byte> Pool => pool;

    /// <summary>The bytes of the message so far.</summary>
    public int Length => _length;

    /// <summary>The most bytes that an item can add.</summary>
    /// <exception cref="ArgumentException">A text of the item is not valid Unicode.</exception>
    public static long MaxLengthOf(WorkId id, string? key, IReadOnlyDictionary<string, string>? headers, int valueLength)
    {
        try
        {
            long length = 1L + (5 * EnvelopeFormat.MaxNumberLength) + EnvelopeFormat.Text.GetByteCount(id.Origin) + valueLength;
            length += key is null ? 0 : EnvelopeFormat.Text.GetByteCount(key);
            return headers is { Count: > 0 } ? length + MaxLengthOf(headers) : length;
        }
        catch (EncoderFallbackException e)
        {
            throw new ArgumentException($"The origin, key and headers of item {id.Index} must be valid Unicode: half a surrogate pair is not.", e);
        }
    }

    public void Add(WorkId id, string? key, int attempt, IReadOnlyDictionary<string, string>? headers, ReadOnlySpan<byte> value)
    {
        if (Count == 0)
        {
            Reserve(EnvelopeFormat.HeaderLength);
            _buffer[0] = EnvelopeFormat.Mark;
            _buffer[1] = EnvelopeFormat.Version;
            _length = EnvelopeFormat.HeaderLength;
        }

        bool follows = Count > 0 && id.Index == unchecked(_lastIndex + 1) && id.Origin == _lastOrigin;
        bool hasHeaders = headers is { Count: > 0 };
        Reserve(1);
        _buffer[_length++] = (byte)((follows ? EnvelopeFormat.Follows : 0) | (key is null ? 0 : EnvelopeFormat.HasKey)
            | (attempt == 1 ? 0 : EnvelopeFormat.HasAttempt) | (hasHeaders ? EnvelopeFormat.HasHeaders : 0));
        if (!follows)
        {
            WriteText(id.Origin);
            WriteNumber(unchecked((uint)id.Index));
        }

        if (key is not null)
        {
            WriteText(key);
        }

        if (attempt != 1)
        {
            WriteNumber((uint)attempt);
        }

        if (hasHeaders)
        {
            WriteNumber((uint)headers!.Count);
            foreach ((string name, string text) in headers)
            {
                WriteText(name);
                WriteText(text);
            }
        }

        WriteNumber((uint)value.Length);
        Reserve(value.Length);
        value.CopyTo(_buffer.AsSpan(_length));
        _length += value.Length;
        _name.Add(id, attempt, isFirst: Count == 0, follows);
        _lastOrigin = id.Origin;
        _lastIndex = id.Index;
        Count++;
    }

    /// <summary>Takes the message, whose buffer belongs to the pool and is the caller's from now on.</summary>
    public (byte[] Buffer, int Length, int Count, string MessageId) Take()
    {
        BinaryPrimitives.WriteInt32LittleEndian(_buffer.AsSpan(2), Count);
        (byte[], int, int, string) message = (_buffer, _length, Count, _name.ToString());
        _lastLength = _length;
        _buffer = [];
        _length = 0;
        Count = 0;
        return message;
    }

    private static long MaxLengthOf(IReadOnlyDictionary<string, string> headers) =>
        headers.Sum(static h =>
            (2L * EnvelopeFormat.MaxNumberLength) + EnvelopeFormat.Text.GetByteCount(h.Key) + EnvelopeFormat.Text.GetByteCount(h.Value));

    private void WriteText(string text)
    {
        int bytes = EnvelopeFormat.Text.GetByteCount(text);
        WriteNumber((uint)bytes);
        Reserve(bytes);
        _length += EnvelopeFormat.Text.GetBytes(text, _buffer.AsSpan(_length));
    }

    private void WriteNumber(uint number)
    {
        Reserve(EnvelopeFormat.MaxNumberLength);
        for (; number >= 0x80; number >>= 7)
        {
            _buffer[_length++] = (byte)(number | 0x80);
        }

        _buffer[_length++] = (byte)number;
    }

    private void Reserve(int bytes)
    {
        if (_buffer.Length - _length >= bytes)
        {
            return;
        }

        // The next message is most likely as long as the last one, and then it grows only once.
        int usual = _length == 0 ? Math.Max(LeastBytes, _lastLength) : 2 * _length;
        byte[] larger = pool.Rent(Math.Max(_length + bytes, usual));
        _buffer.AsSpan(0, _length).CopyTo(larger);
        if (_buffer.Length > 0)
        {
            pool.Return(_buffer);
        }

        _buffer = larger;
    }
}
