using System.Text;

namespace Weir.PostgreSql;

/// <summary>Names of schemas and tables inside statements.</summary>
internal static class SqlName
{
    /// <summary>PostgreSQL cuts off what is longer, so that two names could become one.</summary>
    private const int MaxBytes = 63;

    private static readonly UTF8Encoding Strict = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    /// <summary>A name as it stands in a statement, whatever characters it has.</summary>
    public static string Quote(string name) => $"\"{name.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";

    /// <summary>A text as it stands in a statement.</summary>
    public static string Literal(string text) => $"'{text.Replace("'", "''", StringComparison.Ordinal)}'";

    /// <summary>Checks a name given by the user. The name of a table is a prefix and this name.</summary>
    public static string Check(string name, string parameter, string prefix = "")
    {
        ArgumentException.ThrowIfNullOrEmpty(name, parameter);
        int bytes = Bytes(name);
        int most = MaxBytes - prefix.Length;
        return bytes >= 0 && bytes <= most
            ? name
            : throw new ArgumentException(
                $"{parameter} must be a text of at most {most} bytes of UTF-8 without the character U+0000: it is part of the name of a table.", parameter);
    }

    /// <summary>How long a text is in UTF-8; negative if PostgreSQL cannot store it.</summary>
    public static int Bytes(string text)
    {
        if (text.Contains('\0', StringComparison.Ordinal))
        {
            return -1;
        }

        try
        {
            return Strict.GetByteCount(text);
        }
        catch (EncoderFallbackException)
        {
            return -1;
        }
    }

    /// <summary>The text, with what PostgreSQL cannot store replaced.</summary>
    public static string Storable(string text) =>
        Bytes(text) >= 0 ? text : Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(text)).Replace('\0', '\uFFFD');
}
