using BenchmarkDotNet.Jobs;
using Weir.Lab.Benchmarks.Engine;
using Weir.Lab.Benchmarks.Reporting;
using Weir.Lab.Benchmarks.Running;
using Weir.Lab.Benchmarks.Validation;

namespace Weir.Lab.Benchmarks;

/// <summary>
/// BenchmarkDotNet's switcher with the lab's configuration. It takes all arguments of BenchmarkDotNet, and besides <c>--workers 1,2,8</c>, which is for all
/// benchmarks. When no benchmark has a result, the exit code of the program becomes 1.
/// </summary>
public static class LabBenchmarks
{
    /// <summary>Runs benchmarks of an assembly, as the arguments say.</summary>
    /// <param name="assembly">The assembly that has them.</param>
    /// <param name="args">The arguments.</param>
    /// <param name="config">What else to use; <see langword="null"/> for BenchmarkDotNet's defaults.</param>
    /// <param name="stop">
    /// Asks the run to stop after the benchmark that is measured. The others then count as failed in the summaries. Benchmarks in process are not stopped.
    /// </param>
    /// <returns>A summary for each class; none when nothing was run.</returns>
    /// <exception cref="ArgumentException">The numbers of workers are not numbers from 1 to 100,000.</exception>
    public static IReadOnlyList<Summary> Run(Assembly assembly, string[] args, IConfig? config = null, CancellationToken stop = default)
    {
        ArgumentNullException.ThrowIfNull(assembly);
        return Run(BenchmarkSwitcher.FromAssembly(assembly), args, config, stop);
    }

    /// <summary>Runs benchmarks of some classes, as the arguments say.</summary>
    /// <param name="types">The classes that have them.</param>
    /// <param name="args">The arguments.</param>
    /// <param name="config">What else to use; <see langword="null"/> for BenchmarkDotNet's defaults.</param>
    /// <param name="stop">
    /// Asks the run to stop after the benchmark that is measured. The others then count as failed in the summaries. Benchmarks in process are not stopped.
    /// </param>
    /// <returns>A summary for each class; none when nothing was run.</returns>
    /// <exception cref="ArgumentException">The numbers of workers are not numbers from 1 to 100,000.</exception>
    public static IReadOnlyList<Summary> Run(Type[] types, string[] args, IConfig? config = null, CancellationToken stop = default)
    {
        ArgumentNullException.ThrowIfNull(types);
        return Run(BenchmarkSwitcher.FromTypes(types), args, config, stop);
    }

    /// <summary>Whether an argument asks for an answer, and not for a run.</summary>
    /// <param name="argument">The argument.</param>
    /// <returns>Whether it does.</returns>
    public static bool IsQuestion(string argument) => argument is "--list" or "--help" or "--version" or "--info";

    private static IReadOnlyList<Summary> Run(BenchmarkSwitcher switcher, string[] args, IConfig? config, CancellationToken stop)
    {
        ArgumentNullException.ThrowIfNull(args);
        LoadedVersion.ThrowIfOther();
        LabArguments arguments = LabArguments.Parse(args);
        config ??= DefaultConfig.Instance;
        IConfig united = ManualConfig.Union(config, LabConfig.Instance);
        IReadOnlyList<Summary> summaries = RunSettings.Use<IReadOnlyList<Summary>>(
            new RunSettings(arguments.Workers, config.Orderer, stop), () => [.. switcher.Run(arguments.Remaining, united)]);
        if (!summaries.Any(static summary => summary.Reports.Any(static report => report.Success)) && !args.Any(IsQuestion))
        {
            Environment.ExitCode = 1;
        }

        return summaries;
    }
}

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
