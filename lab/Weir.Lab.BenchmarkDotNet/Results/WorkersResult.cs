using System.Text.Json;
using System.Text.Json.Serialization;
using Weir.Lab.Statistics;

namespace Weir.Lab.Benchmarks.Results;

/// <summary>The figures of the workers of one case, which BenchmarkDotNet cannot hold.</summary>
public sealed record WorkersResult
{
    /// <summary>How many workers ran.</summary>
    public required int Workers { get; init; }

    /// <summary>Whether they were loops without threads of their own.</summary>
    public required bool IsAsync { get; init; }

    /// <summary>Operations per second of all workers together: the median of the measured windows.</summary>
    public required double OperationsPerSecond { get; init; }

    /// <summary>How long single calls of the method took, from their start; a call is as many operations as <c>OperationsPerInvoke</c> says.</summary>
    public required LatencySummary Latency { get; init; }

    /// <summary>Of how many calls one was timed.</summary>
    public required int SampleEvery { get; init; }

    /// <summary>Bytes that all threads allocated for an operation, without what the workers themselves need.</summary>
    public required double BytesPerOperation { get; init; }

    /// <summary>How many processors were busy.</summary>
    public required double Cores { get; init; }

    /// <summary>How many processors there are.</summary>
    public required int ProcessorCount { get; init; }

    /// <summary>How evenly the work was spread over the workers.</summary>
    public required Fairness Fairness { get; init; }

    /// <summary>How much was under way at once.</summary>
    public required InFlightDepth InFlight { get; init; }

    /// <summary>How much the canary varied before and after, at most: what else the machine did.</summary>
    public required double CanaryVariation { get; init; }

    /// <summary>What a call returned, as far as it can be compared with what another benchmark returns; <see langword="null"/> otherwise.</summary>
    public string? Returned { get; init; }
}

/// <summary>Brings the figures of a case from the engine to the host: through a file from a child process, through memory within one.</summary>
/// <remarks>BenchmarkDotNet 0.14 does not give diagnosers what a child process writes, and keeps nothing of what a benchmark in process writes.</remarks>
internal static class ResultTransport
{
    /// <summary>Names the file for the child process.</summary>
    public const string Variable = "WEIR_LAB_RESULT";

    private static readonly ConcurrentDictionary<string, WorkersResult> InProcess = new(StringComparer.Ordinal);

    public static void Send(string benchmarkName, WorkersResult result)
    {
        if (Environment.GetEnvironmentVariable(Variable) is { Length: > 0 } path)
        {
            File.WriteAllText(path, JsonSerializer.Serialize(result, ResultsJson.Default.WorkersResult));
        }
        else
        {
            InProcess[Key(benchmarkName, result.Workers)] = result;
        }
    }

    public static WorkersResult? Receive(string benchmarkName, int workers, string? path)
    {
        if (path is not null && File.Exists(path))
        {
            WorkersResult? result = JsonSerializer.Deserialize(File.ReadAllText(path), ResultsJson.Default.WorkersResult);
            File.Delete(path);
            return result;
        }

        return InProcess.TryRemove(Key(benchmarkName, workers), out WorkersResult? local) ? local : null;
    }

    private static string Key(string benchmarkName, int workers) => FormattableString.Invariant($"{benchmarkName} x {workers}");
}

/// <summary>How the figures go from the child process to the host.</summary>
[JsonSourceGenerationOptions(
    NumberHandling = JsonNumberHandling.AllowNamedFloatingPointLiterals,
    Converters = [typeof(HistogramJsonConverter)])]
[JsonSerializable(typeof(WorkersResult))]
internal sealed partial class ResultsJson : JsonSerializerContext;
