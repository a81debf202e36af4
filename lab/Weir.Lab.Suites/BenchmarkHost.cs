using Weir.Lab.Benchmarks;
using Weir.Lab.Suites.Workloads;

namespace Weir.Lab.Suites;

/// <summary>Runs the suites from any program.</summary>
public static class BenchmarkHost
{
    /// <summary>Runs the benchmarks that the arguments choose, and writes to the console.</summary>
    /// <param name="arguments">BenchmarkDotNet's own arguments.</param>
    /// <returns>Whether all of them have a result. A benchmark has none when its arms do unequal work.</returns>
    /// <exception cref="ArgumentException">An argument cannot be used; the message says which and why.</exception>
    public static bool Run(string[] arguments)
    {
        // Before any child process starts, so that all of them spin the same number of times.
        SpinWork.Publish();
        return !LabBenchmarks.Run(typeof(Suite).Assembly, arguments)
            .Any(static summary => summary.HasCriticalValidationErrors || summary.Reports.Any(static report => !report.Success));
    }
}
