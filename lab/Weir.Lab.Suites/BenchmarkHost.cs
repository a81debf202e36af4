using Weir.Lab.Benchmarks;
using Weir.Lab.Suites.Workloads;

namespace Weir.Lab.Suites;

/// <summary>Runs the suites from any program.</summary>
public static class BenchmarkHost
{
    /// <summary>Runs the benchmarks that the arguments choose, and writes to the console.</summary>
    /// <param name="arguments">BenchmarkDotNet's own arguments, and <c>--workers</c>.</param>
    /// <returns>0 when all of them have a result, 3 when one has none, as when its arms do unequal work, and 1 for an argument that cannot be used.</returns>
    public static int Run(string[] arguments)
    {
        // Before any child process starts, so that all of them spin the same number of times.
        SpinWork.Publish();
        try
        {
            return LabBenchmarks.Run(typeof(Suite).Assembly, arguments)
                .Any(static summary => summary.HasCriticalValidationErrors || summary.Reports.Any(static report => !report.Success)) ? 3 : 0;
        }
        catch (ArgumentException error) when (error.ParamName is null)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
