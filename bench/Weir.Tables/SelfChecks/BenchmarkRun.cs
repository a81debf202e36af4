using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Loggers;
using Weir.Lab.Benchmarks;

namespace Weir.Tables.SelfChecks;

/// <summary>Runs classes with BenchmarkDotNet for a check.</summary>
internal static class BenchmarkRun
{
    /// <summary>Runs all benchmarks of some classes.</summary>
    /// <exception cref="InvalidOperationException">One has no result; the message has the whole log.</exception>
    public static IReadOnlyList<BenchmarkReport> Reports(Type[] types)
    {
        AccumulationLogger log = new();
        ManualConfig config = ManualConfig.CreateEmpty()
            .AddLogger(log)
            .AddColumnProvider(DefaultColumnProviders.Instance)
            .WithArtifactsPath(Path.Combine(Path.GetTempPath(), "weir-lab-check"))
            .WithBuildTimeout(TimeSpan.FromMinutes(10))
            .WithOptions(ConfigOptions.DisableLogFile);
        BenchmarkReport[] reports =
            [.. LabBenchmarks.Run(types, ["--filter", "*", "--iterationCount", "8", "--warmupCount", "4"], config).SelectMany(static s => s.Reports)];
        return reports.Length > 0 && reports.All(static r => r.Success)
            ? reports
            : throw new InvalidOperationException($"BenchmarkDotNet measured nothing.\n{log.GetLog()}");
    }
}
