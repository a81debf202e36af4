using NpgsqlTypes;

namespace Weir.PostgreSql;

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
