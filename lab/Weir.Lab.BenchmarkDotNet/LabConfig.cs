using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;
using Weir.Lab.Benchmarks.Engine;
using Weir.Lab.Benchmarks.Expansion;
using Weir.Lab.Benchmarks.Reporting;
using Weir.Lab.Benchmarks.Validation;

namespace Weir.Lab.Benchmarks;

/// <summary>What the lab adds to a configuration of BenchmarkDotNet. It can be united with any other.</summary>
public static class LabConfig
{
    // BenchmarkDotNet gives up after 2 minutes, which the first build of a large project takes on a busy machine.
    private static TimeSpan BuildTimeout => TimeSpan.FromMinutes(10);

    /// <summary>
    /// The configuration: the engine for workers, their columns, analysers and validators, and the runtime that BenchmarkDotNet does not know. It has no job,
    /// no logger and no exporter, so it does nothing alone.
    /// </summary>
    public static IConfig Instance { get; } = ManualConfig.CreateEmpty()
        .WithBuildTimeout(BuildTimeout)
        .WithOrderer(WorkersOrderer.Instance)
        .AddJob(Job.Default.WithEngineFactory(new WorkersEngineFactory()).AsMutator())
        .HideColumns(EnvironmentMode.EnvironmentVariablesCharacteristic.Id, InfrastructureMode.EngineFactoryCharacteristic.Id)
        .AddDiagnoser(WorkersDiagnoser.Instance)
        .AddColumnProvider(new WorkersColumns())
        .AddAnalyser(WorkersAnalyser.Instance, EqualResultsAnalyser.Instance)
        .AddValidator(WorkersValidator.Instance, MethodBodyValidator.Instance);
}
