using System.Buffers.Binary;
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
