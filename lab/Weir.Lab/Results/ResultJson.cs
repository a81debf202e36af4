using System.Text.Encodings.Web;
using System.Text.Json.Serialization.Metadata;

namespace Weir.Lab.Results;

/// <summary>Reads and writes result files.</summary>
internal static class ResultJson
{
    /// <summary>Names as in the other JSON of the commands; absent figures are left out.</summary>
    public static JsonSerializerOptions Indented { get; } = Options(indented: true);

    /// <summary><see cref="Indented"/> on one line, for talking to a child process.</summary>
    public static JsonSerializerOptions Line { get; } = Options(indented: false);

    public static string Write(ResultFile result) => JsonSerializer.Serialize(result, Indented);

    /// <summary>Writes several as a list.</summary>
    public static string Write(IReadOnlyList<ResultFile> results) => JsonSerializer.Serialize(results, Indented);

    /// <summary>Reads a file.</summary>
    /// <exception cref="ResultFileException">It is not a result file that this program reads.</exception>
    public static ResultFile Read(string path) => Parse(TextOf(path, "result file"), path);

    /// <summary>The text of a file.</summary>
    /// <exception cref="ResultFileException">It cannot be read.</exception>
    public static string TextOf(string path, string what)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new ResultFileException($"The {what} '{path}' cannot be read: {e.Message}", e);
        }
    }

    /// <summary>Reads the text of a file.</summary>
    /// <exception cref="ResultFileException">It is not a result file that this program reads.</exception>
    public static ResultFile Parse(string text, string path)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(text);
            if (document.RootElement.ValueKind != JsonValueKind.Object
                || !document.RootElement.TryGetProperty("format", out JsonElement format)
                || format.ValueKind != JsonValueKind.String || format.GetString() != "weir-result"
                || !document.RootElement.TryGetProperty("version", out JsonElement version)
                || !version.TryGetInt32(out int number))
            {
                throw new ResultFileException($"'{path}' is not a result file: write one with --export json.");
            }

            return number is >= 1 and <= ResultFile.CurrentVersion
                ? document.Deserialize<ResultFile>(Indented)!
                : throw new ResultFileException($"'{path}' has version {number} of the format; this program reads versions 1 to {ResultFile.CurrentVersion}.");
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException or FormatException)
        {
            throw new ResultFileException($"'{path}' is not a result file: {e.Message}", e);
        }
    }

    // The text is read by programs and people, not put into a page: a plus sign needs no escape.
    private static JsonSerializerOptions Options(bool indented) => new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.SnakeCaseLower,
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        NumberHandling = JsonNumberHandling.AllowNamedFloatingPointLiterals,
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        Converters = { new JsonStringEnumConverter(JsonNamingPolicy.SnakeCaseLower) },
        WriteIndented = indented,

        // Set at once and not by the first use: what asks for a type's fields may come before it.
        TypeInfoResolver = new DefaultJsonTypeInfoResolver(),
    };
}

/// <summary>A file or text holds no result that this program reads. The message is one sentence that names the file.</summary>
/// <param name="message">What is wrong, and with which file.</param>
/// <param name="inner">The exception of the reader; <see langword="null"/> for none.</param>
public sealed class ResultFileException(string message, Exception? inner = null) : IOException(message, inner);
