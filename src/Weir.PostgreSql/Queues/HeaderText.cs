using System.Text.Json;
using System.Text.Json.Serialization;

namespace Weir.PostgreSql;

/// <summary>Headers of an item as a text of JSON.</summary>
internal static partial class HeaderText
{
    public static string? Write(IReadOnlyDictionary<string, string>? headers) =>
        headers is null || headers.Count == 0 ? null : JsonSerializer.Serialize(headers, HeaderJson.Default.IReadOnlyDictionaryStringString);

    /// <exception cref="JsonException">The text was written by another program and is not such JSON.</exception>
    public static IReadOnlyDictionary<string, string>? Read(string? text) =>
        text is null ? null : JsonSerializer.Deserialize(text, HeaderJson.Default.IReadOnlyDictionaryStringString);

    /// <summary>Headers to look at: a text that is not such JSON is shown as it is.</summary>
    public static IReadOnlyDictionary<string, string>? ReadAny(string? text)
    {
        try
        {
            return Read(text);
        }
        catch (JsonException)
        {
            return new Dictionary<string, string> { ["unreadable"] = text! };
        }
    }

    [JsonSerializable(typeof(IReadOnlyDictionary<string, string>))]
    private sealed partial class HeaderJson : JsonSerializerContext;
}
