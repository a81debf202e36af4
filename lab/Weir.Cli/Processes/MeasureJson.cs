using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;

namespace Weir.Cli.Processes;

/// <summary>What measuring processes are told and say, with code made by the compiler: looking at types takes as long as a warm-up.</summary>
[JsonSerializable(typeof(WorkerOrder))]
[JsonSerializable(typeof(MeasureAnswer))]
internal sealed partial class MeasureJson : JsonSerializerContext
{
    /// <summary>On one line, as <see cref="ResultJson.Line"/>. Other types are looked at.</summary>
    public static JsonSerializerOptions Line { get; } =
        new(ResultJson.Line) { TypeInfoResolver = JsonTypeInfoResolver.Combine(Default, ResultJson.Line.TypeInfoResolver) };
}
