using BenchmarkDotNet.Jobs;
using Weir.Lab.Benchmarks.Engine;
using Weir.Lab.Benchmarks.Reporting;
using Weir.Lab.Benchmarks.Validation;

namespace Weir.Lab.Benchmarks;

/// <summary>What the lab adds to a configuration of BenchmarkDotNet. It can be united with any other.</summary>
public static class LabConfig
{
    // BenchmarkDotNet gives up after 2 minutes, which the first build of a large project takes on a busy machine.
    private static TimeSpan BuildTimeout => TimeSpan.FromMinutes(10);

    /// <summary>
    /// The configuration: the engine for workers, their columns, analysers and validators. It has no job, no logger and no exporter, so it does nothing alone.
    /// </summary>
    /// <exception cref="NotSupportedException">The version of BenchmarkDotNet is not one that the lab was made for; the message names both.</exception>
    public static IConfig Instance
    {
        get
        {
            // Before anything is touched that another version may not have.
            LoadedVersion.ThrowIfOther();
            return Parts.All;
        }
    }

    private static class Parts
    {
        public static readonly IConfig All = ManualConfig.CreateEmpty()
            .WithBuildTimeout(BuildTimeout)
            .WithOrderer(WorkersOrderer.Instance)
            .AddJob(Job.Default.WithEngineFactory(new WorkersEngineFactory()).AsMutator())
            .HideColumns(EnvironmentMode.EnvironmentVariablesCharacteristic.Id, InfrastructureMode.EngineFactoryCharacteristic.Id)
            .AddDiagnoser(WorkersDiagnoser.Instance)
            .AddColumnProvider(new WorkersColumns())
            .AddAnalyser(WorkersAnalyser.Instance, EqualResultsAnalyser.Instance)
            .AddValidator(WorkersValidator.Instance, MethodBodyValidator.Instance);
    }
}
