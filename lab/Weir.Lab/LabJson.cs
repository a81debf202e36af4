using System.Text.Json;
using System.Text.Json.Serialization;
using Weir.Lab.Latency;
using Weir.Lab.Scaling;
using Weir.Lab.Statistics;
using Weir.Lab.Workers;

namespace Weir.Lab;

/// <summary>How results are written as JSON, and read again. Times are written as <c>hh:mm:ss.fffffff</c>, latencies in nanoseconds.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    NumberHandling = JsonNumberHandling.AllowNamedFloatingPointLiterals,
    WriteIndented = true,
    Converters = [typeof(HistogramJsonConverter)])]
[JsonSerializable(typeof(WorkerRun))]
[JsonSerializable(typeof(WorkerRun[]))]
[JsonSerializable(typeof(UslFit))]
[JsonSerializable(typeof(Comparison))]
internal sealed partial class LabJson : JsonSerializerContext;
