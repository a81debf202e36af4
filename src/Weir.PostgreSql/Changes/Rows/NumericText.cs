using System.Buffers.Binary;
using System.Globalization;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>Numerics: digits in base 10,000, the weight of the first, a sign, and how many decimals are shown.</summary>
internal static class NumericText
{
    private const ushort Negative = 0x4000;

    public static string Read(ReadOnlySpan<byte> bytes)
    {
        int digits = BinaryPrimitives.ReadInt16BigEndian(bytes);
        int weight = BinaryPrimitives.ReadInt16BigEndian(bytes[2..]);
        ushort sign = BinaryPrimitives.ReadUInt16BigEndian(bytes[4..]);
        int scale = BinaryPrimitives.ReadInt16BigEndian(bytes[6..]);
        if (sign is not (0 or Negative))
        {
            return sign switch { 0xC000 => "NaN", 0xD000 => "Infinity", _ => "-Infinity" };
        }

        var text = new StringBuilder(sign == Negative ? "-" : "");
        int first = text.Length;
        for (int place = Math.Max(weight, 0); place >= 0; place--)
        {
            text.Append(text.Length > first ? Digit(bytes, digits, weight - place).ToString("0000", CultureInfo.InvariantCulture)
                : Digit(bytes, digits, weight - place) is > 0 and int leading ? leading.ToString(CultureInfo.InvariantCulture) : "");
        }

        if (text.Length == first)
        {
            text.Append('0');
        }

        if (scale > 0)
        {
            text.Append('.');
            int end = text.Length + scale;
            for (int place = -1; text.Length < end; place--)
            {
                text.Append(Digit(bytes, digits, weight - place).ToString("0000", CultureInfo.InvariantCulture));
            }

            text.Length = end;
        }

        return text.ToString();
    }

    // Zeros at either end are not sent.
    private static int Digit(ReadOnlySpan<byte> bytes, int digits, int index) =>
        index >= 0 && index < digits ? BinaryPrimitives.ReadInt16BigEndian(bytes[(8 + (2 * index))..]) : 0;
}
