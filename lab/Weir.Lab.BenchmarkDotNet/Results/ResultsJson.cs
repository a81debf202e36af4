using System.Text.Json.Serialization;

namespace Weir.Lab.Benchmarks.Results;

/// <summary>How the figures go from the child process to the host.</summary>
[JsonSourceGenerationOptions(
    NumberHandling = JsonNumberHandling.AllowNamedFloatingPointLiterals,
    Converters = [typeof(HistogramJsonConverter)])]
[JsonSerializable(typeof(WorkersResult))]
internal sealed partial class ResultsJson : JsonSerializerContext;
