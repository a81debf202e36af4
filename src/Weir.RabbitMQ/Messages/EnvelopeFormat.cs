using System.Text;

namespace Weir.RabbitMQ;

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
