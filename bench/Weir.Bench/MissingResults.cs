using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Toolchains.Results;

namespace Weir.Bench;

/// <summary>Reports why benchmarks have no result: the table shows <c>NA</c> for them, and the reason is somewhere in a long log.</summary>
internal static class MissingResults
{
    private const int LongestReason = 300;

    /// <summary>A sentence for each reason.</summary>
    /// <param name="summaries">What was run.</param>
    /// <param name="isStopped">Whether the run was stopped; then benchmarks that did not run need no reason.</param>
    public static IEnumerable<string> Of(IReadOnlyList<Summary> summaries, bool isStopped) =>
        isStopped ? [] : Of(summaries.SelectMany(static s => s.Reports)
            .Where(static r => !r.Success)
            .Select(static r => (r.BenchmarkCase.Descriptor.DisplayInfo, ReasonOf(r))));

    internal static IEnumerable<string> Of(IEnumerable<(string Benchmark, string Reason)> missing) => missing
        .GroupBy(static m => m.Reason)
        .Select(static g => g.Count() == 1
            ? $"{g.First().Benchmark} has no result: {g.Key}"
            : $"{g.First().Benchmark} and {g.Count() - 1} more have no result: {g.Key}");

    internal static string ReasonOf(BuildResult build)
    {
        string text = build.IsGenerateSuccess ? build.ErrorMessage ?? "" : build.GenerateException?.Message ?? "";
        string line =
            text.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries).FirstOrDefault() ?? "BenchmarkDotNet's log says why.";
        line = line.Length > LongestReason ? line[..LongestReason] + "..." : line;
        string advice = line.Contains("timeout", StringComparison.OrdinalIgnoreCase) ? " A longer time is given with --buildTimeout SECONDS." : "";
        return $"it could not be built: {line}{advice}";
    }

    private static string ReasonOf(BenchmarkReport report) =>
        report.BuildResult is { IsBuildSuccess: false } build ? ReasonOf(build)
        : report.ExecuteResults is [.., { ExitCode: { } code and not 0 }] ? $"its process ended with code {code}; BenchmarkDotNet's log says why."
        : "it gave no figures; see BenchmarkDotNet's log.";
}
