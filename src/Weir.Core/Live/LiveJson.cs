using System.Text.Json;
using System.Text.Json.Serialization;
using Weir.Observability;

namespace Weir.Core.Live;

/// <summary>The JSON of what is live. Written at compile time, so that it works in trimmed and native programs.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(WeirSnapshot))]
[JsonSerializable(typeof(LiveHistory))]
internal sealed partial class LiveJson : JsonSerializerContext
{
    /// <summary>The values of an enumeration as words such as halfOpen.</summary>
    internal sealed class Names<T>() : JsonStringEnumConverter<T>(JsonNamingPolicy.CamelCase, allowIntegerValues: false)
        where T : struct, Enum;
}
