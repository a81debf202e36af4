using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Reports;
using Weir.Lab.Benchmarks;

namespace Weir.Lab.Suites;

/// <summary>Runs the suites from a program.</summary>
public static class BenchmarkHost
{
    /// <summary>Runs the benchmarks that the arguments select, with a custom configuration.</summary>
    /// <param name="arguments">BenchmarkDotNet's own arguments, and <c>--workers</c>.</param>
    /// <param name="config">Loggers, exporters and what else is used; <see langword="null"/> for BenchmarkDotNet's defaults.</param>
    /// <param name="done">Gets the summaries, one for each class.</param>
    /// <param name="stop">Asks the run to stop after the benchmark that is measured; the others then count as failed.</param>
    /// <returns>
    /// 0 when all of them have a result, 3 when one has none, as when its arms do unequal work, and 1 for an argument that cannot be used, or that no
    /// benchmark answers to.
    /// </returns>
    public static int Run(string[] arguments, IConfig? config, Action<IReadOnlyList<Summary>> done, CancellationToken stop)
    {
        ArgumentNullException.ThrowIfNull(arguments);
        ArgumentNullException.ThrowIfNull(done);

        // Before any child process starts, so that all of them spin the same number of times.
        SpinSpeed.Publish();
        try
        {
            IReadOnlyList<Summary> summaries = LabBenchmarks.Run(typeof(Suite).Assembly, arguments, config, stop);
            done(summaries);
            if (summaries.Count == 0 && !arguments.Any(LabBenchmarks.IsQuestion))
            {
                // BenchmarkDotNet has logged the reason: an argument or a filter that it does not understand.
                return 1;
            }

            return summaries.Any(static summary => summary.HasCriticalValidationErrors || summary.Reports.Any(static report => !report.Success)) ? 3 : 0;
        }
        catch (ArgumentException error) when (error.ParamName is null)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
