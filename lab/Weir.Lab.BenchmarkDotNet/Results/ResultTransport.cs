using System.Text.Json;

namespace Weir.Lab.Benchmarks.Results;

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
