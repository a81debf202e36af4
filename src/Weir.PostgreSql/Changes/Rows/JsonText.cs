using System.Text.Json;

namespace Weir.PostgreSql;

/// <summary>Writes texts of the server as JSON: as its <c>to_jsonb</c> makes it of the values, with times in UTC.</summary>
internal static class JsonText
{
    public static void Write(Utf8JsonWriter writer, TypeShape shape, string? text)
    {
        if (text is null)
        {
            writer.WriteNullValue();
        }
        else if (shape.Fields is { } fields)
        {
            WriteFields(writer, fields, text);
        }
        else if (shape.BaseOid is TypeOid.Int2Vector or TypeOid.OidVector)
        {
            WriteVector(writer, shape.Element!, text);
        }
        else if (shape.Element is { } element)
        {
            WriteArray(writer, element, shape.Delimiter, text);
        }
        else
        {
            WriteScalar(writer, shape.BaseOid, text);
        }
    }

    private static void WriteScalar(Utf8JsonWriter writer, uint type, string text)
    {
        switch (type)
        {
            case TypeOid.Bool:
                writer.WriteBooleanValue(text == "t");
                break;

            // All but NaN and the infinite ones are written as JSON has numbers, with all digits.
            case TypeOid.Int2 or TypeOid.Int4 or TypeOid.Int8 or TypeOid.Float4 or TypeOid.Float8 or TypeOid.Numeric when char.IsAsciiDigit(text[^1]):
                writer.WriteRawValue(text, skipInputValidation: true);
                break;

            // Line breaks are between its parts only, and a line has none.
            case TypeOid.Json or TypeOid.Jsonb:
                writer.WriteRawValue(text.Replace('\n', ' ').Replace('\r', ' '), skipInputValidation: true);
                break;
            case TypeOid.Timestamp or TypeOid.TimestampTz when text.IndexOf(' ', StringComparison.Ordinal) is > 0 and int space:
                writer.WriteStringValue($"{text.AsSpan(0, space)}T{text[(space + 1)..].Replace("+00", "+00:00", StringComparison.Ordinal)}");
                break;
            default:
                writer.WriteStringValue(text);
                break;
        }
    }

    private static void WriteArray(Utf8JsonWriter writer, TypeShape element, char delimiter, string text)
    {
        // The first and last index of each dimension stand in front if the first is not 1.
        int at = text.IndexOf('{', StringComparison.Ordinal);
        while (at < text.Length)
        {
            if (text[at] == '{')
            {
                writer.WriteStartArray();
                at++;
            }
            else if (text[at] == '}')
            {
                writer.WriteEndArray();
                at++;
            }
            else if (text[at] == delimiter)
            {
                at++;
            }
            else
            {
                Write(writer, element, QuotedText.Read(text, ref at, delimiter, '}', "NULL"));
            }
        }
    }

    private static void WriteVector(Utf8JsonWriter writer, TypeShape element, string text)
    {
        writer.WriteStartArray();
        foreach (string one in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            Write(writer, element, one);
        }

        writer.WriteEndArray();
    }

    private static void WriteFields(Utf8JsonWriter writer, IReadOnlyList<(string Name, TypeShape Shape)> fields, string text)
    {
        List<string?> values = [];
        for (int at = 0; fields.Count > 0 && text[at] != ')';)
        {
            at++;
            values.Add(QuotedText.Read(text, ref at, ',', ')', ""));
        }

        if (values.Count != fields.Count)
        {
            // The type has been altered since its fields were read.
            writer.WriteStringValue(text);
            return;
        }

        writer.WriteStartObject();
        for (int i = 0; i < values.Count; i++)
        {
            writer.WritePropertyName(fields[i].Name);
            Write(writer, fields[i].Shape, values[i]);
        }

        writer.WriteEndObject();
    }
}
