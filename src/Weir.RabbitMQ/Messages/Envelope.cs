using System.Buffers;
using System.Buffers.Binary;
using System.Globalization;
using System.Text;

namespace Weir.RabbitMQ;

/// <summary>Reads the items of a message one after another. Whatever the bytes are, it ends or throws a <see cref="FormatException"/>.</summary>
internal ref struct EnvelopeReader
{
    // An item has at least its flags and the length of its value.
    private const int MinItemLength = 2;

    private ReadOnlySpan<byte> _rest;
    private int _left;
    private string? _origin;
    private int _index;

    /// <exception cref="FormatException">The bytes are not a message of this version.</exception>
    public EnvelopeReader(ReadOnlySpan<byte> body)
    {
        if (body.Length < EnvelopeFormat.HeaderLength || body[0] != EnvelopeFormat.Mark)
        {
            throw new FormatException("The message was not published by Weir.");
        }

        if (body[1] != EnvelopeFormat.Version)
        {
            throw new FormatException($"The message has version {body[1]} of the format, and this program reads version {EnvelopeFormat.Version}.");
        }

        Count = BinaryPrimitives.ReadInt32LittleEndian(body[2..]);
        _rest = body[EnvelopeFormat.HeaderLength..];
        if (Count < 0 || Count > _rest.Length / MinItemLength)
        {
            throw new FormatException($"The message has {body.Length} bytes, which is too short for {Count} items.");
        }

        _left = Count;
    }

    /// <summary>How many items the message has.</summary>
    public int Count { get; }

    public readonly WorkId Id => new(_origin!, _index);

    public string? Key { get; private set; }

    public int Attempt { get; private set; }

    public IReadOnlyDictionary<string, string>? Headers { get; private set; }

    /// <summary>The bytes of the value, inside the message.</summary>
    public ReadOnlySpan<byte> Value { get; private set; }

    /// <exception cref="FormatException">The bytes are not items.</exception>
    public bool Read()
    {
        if (_left == 0)
        {
            return _rest.IsEmpty ? false : throw new FormatException($"{_rest.Length} bytes follow the last item of the message.");
        }

        _left--;
        byte flags = Take(1)[0];
        if ((flags & ~EnvelopeFormat.AllFlags) != 0)
        {
            throw new FormatException($"An item has the unknown flags {flags:x2}.");
        }

        if ((flags & EnvelopeFormat.Follows) != 0)
        {
            _index = _origin is null ? throw new FormatException("The first item of the message has no origin.") : unchecked(_index + 1);
        }
        else
        {
            string origin = ReadText();
            _origin = origin.Length > 0 ? origin : throw new FormatException("An item has no origin.");
            _index = unchecked((int)ReadNumber());
        }

        if (_index < 0)
        {
            throw new FormatException($"An item has the place {unchecked((uint)_index)} in its message, and the last one is {int.MaxValue}.");
        }

        Key = (flags & EnvelopeFormat.HasKey) != 0 ? ReadText() : null;
        uint attempt = (flags & EnvelopeFormat.HasAttempt) != 0 ? ReadNumber() : 1;
        Attempt = attempt is >= 1 and <= int.MaxValue ? (int)attempt : throw new FormatException($"{attempt} is not a valid number of an attempt.");
        Headers = (flags & EnvelopeFormat.HasHeaders) != 0 ? ReadHeaders() : null;
        Value = Take(ReadNumber());
        return true;
    }

    private Dictionary<string, string> ReadHeaders()
    {
        uint count = ReadNumber();
        if (count > _rest.Length / MinItemLength)
        {
            throw new FormatException($"An item says that it has {count} headers, and the message is too short for them.");
        }

        Dictionary<string, string> headers = new((int)count, StringComparer.Ordinal);
        for (uint i = 0; i < count; i++)
        {
            headers[ReadText()] = ReadText();
        }

        return headers;
    }

    private string ReadText()
    {
        try
        {
            return EnvelopeFormat.Text.GetString(Take(ReadNumber()));
        }
        catch (DecoderFallbackException e)
        {
            throw new FormatException("A text of the message is not UTF-8.", e);
        }
    }

    private uint ReadNumber()
    {
        uint number = 0;
        for (int shift = 0; shift < 35; shift += 7)
        {
            byte next = Take(1)[0];
            number |= (uint)(next & 0x7f) << shift;
            if (next < 0x80)
            {
                return shift == 28 && next > 0x0f ? throw TooLarge() : number;
            }
        }

        throw TooLarge();

        static FormatException TooLarge() => new("A number of the message is too large.");
    }

    private ReadOnlySpan<byte> Take(uint length)
    {
        if (length > (uint)_rest.Length)
        {
            throw new FormatException($"The message ends {length - _rest.Length} bytes too early.");
        }

        ReadOnlySpan<byte> taken = _rest[..(int)length];
        _rest = _rest[(int)length..];
        return taken;
    }
}

/// <summary>Writes items into the body of a message. When the message is taken, the next one begins.</summary>
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

    /// <summary>The pool that the bytes of a message belong to.</summary>
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

    /// <summary>Takes the message. Its buffer belongs to the pool, and the caller has to give it back.</summary>
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

        // The next message is probably as long as the last one. Then its buffer grows only once.
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

/// <summary>
/// The body of a message: 'W', the version, the number of items in 4 bytes (little-endian), and the items. An item is a byte of flags, what they announce in
/// their order, and the length and the bytes of its value. Numbers are of variable length, 7 bits a byte; texts are their length and UTF-8.
/// </summary>
internal static class EnvelopeFormat
{
    public const byte Mark = (byte)'W';
    public const byte Version = 1;
    public const int HeaderLength = 6;
    public const int MaxNumberLength = 5;

    /// <summary>The most bytes that an item has besides its value: identity, key, attempt and headers.</summary>
    public const int MaxItemHead = 64 * 1024;

    /// <summary>The origin is that of the item before, and the index follows its index. Otherwise both are there.</summary>
    public const byte Follows = 1;
    public const byte HasKey = 2;
    public const byte HasAttempt = 4;
    public const byte HasHeaders = 8;
    public const byte AllFlags = Follows | HasKey | HasAttempt | HasHeaders;

    /// <summary>What AMQP calls the type of the message.</summary>
    public const string MessageType = "weir.items";

    public static readonly UTF8Encoding Text = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    /// <summary>A text that another program may have written. What is not UTF-8 is replaced.</summary>
    public static string Readable(byte[] bytes) => Encoding.UTF8.GetString(bytes);
}

/// <summary>
/// The identity of a message, made of those of its items: a message with the same items in the same attempt has the same identity, however often it is
/// published, and by which process.
/// </summary>
internal struct MessageName
{
    private const ulong Offset = 14695981039346656037;
    private const ulong Prime = 1099511628211;

    private WorkId _first;
    private int _lastIndex;
    private int _attempt;
    private ulong _hash;
    private bool _isRange;

    public void Add(WorkId id, int attempt, bool isFirst, bool follows)
    {
        if (isFirst)
        {
            _first = id;
            _attempt = attempt;
            _hash = Offset;
            _isRange = true;
        }

        // Needed only if the first and the last item do not identify all of them.
        if (!isFirst && _isRange && !(follows && attempt == _attempt))
        {
            _isRange = false;
            Mix(_first.Index, _lastIndex);
        }

        if (!_isRange)
        {
            foreach (char c in id.Origin)
            {
                _hash = (_hash ^ c) * Prime;
            }

            Mix(id.Index, attempt);
        }

        _lastIndex = id.Index;
    }

    /// <summary>At most 255 bytes, which is the limit of AMQP. A longer name is cut off and gets a hash.</summary>
    public override readonly string ToString()
    {
        string attempt = _attempt == 1 ? "" : string.Create(CultureInfo.InvariantCulture, $"~{_attempt}");
        string last = !_isRange ? string.Create(CultureInfo.InvariantCulture, $"+{_hash:x16}")
            : _lastIndex == _first.Index ? "" : string.Create(CultureInfo.InvariantCulture, $"-{_lastIndex}");
        string origin = _first.Origin;
        if (EnvelopeFormat.Text.GetByteCount(origin) > 150)
        {
            ulong hash = Offset;
            foreach (char c in origin)
            {
                hash = (hash ^ c) * Prime;
            }

            origin = string.Create(CultureInfo.InvariantCulture, $"{hash:x16}");
        }

        return string.Create(CultureInfo.InvariantCulture, $"{origin}/{_first.Index}{last}{attempt}");
    }

    private void Mix(int first, int second) => _hash = (((_hash ^ (uint)first) * Prime) ^ (uint)second) * Prime;
}

/// <summary>The publisher's trace context in the headers of a message, once for all its items.</summary>
internal static class MessageTrace
{
    /// <summary>The most bytes by which an item may grow when it is published again with the context of its message.</summary>
    public const int MaxBytes = 640;

    private const int MaxParent = 64;

    /// <summary>The headers of a message that is published now; null outside of an activity.</summary>
    public static Dictionary<string, object?>? Current() =>
        TraceContext.Current() is { } context
            ? new(context.Select(static c => KeyValuePair.Create(c.Key, (object?)c.Value)), StringComparer.Ordinal)
            : null;

    /// <summary>The context in the headers of a message, as headers of its items; null if there is none.</summary>
    public static Dictionary<string, string>? Read(IDictionary<string, object?>? headers) =>
        Text(headers, TraceContext.Parent) is { Length: <= MaxParent } parent ? TraceContext.Of(parent, Text(headers, TraceContext.State)) : null;

    // RabbitMQ gives texts as bytes.
    private static string? Text(IDictionary<string, object?>? headers, string name) =>
        headers is not null && headers.TryGetValue(name, out object? value)
            ? value switch { byte[] bytes => EnvelopeFormat.Readable(bytes), string text => text, _ => null }
            : null;
}
