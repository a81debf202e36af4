using System.Runtime.ExceptionServices;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>One window of a benchmark, ready to be run.</summary>
internal sealed class BenchmarkWindow(BenchmarkWindows windows, WorkerRunSpec spec, Workload workload, WindowPlan plan, Action<string> waiting)
{
    /// <summary>Runs it.</summary>
    /// <exception cref="Exception">What the benchmark threw, if it did.</exception>
    /// <exception cref="TimeoutException">A worker did not end.</exception>
    public WindowOutcome Run()
    {
        WindowOutcome outcome = WindowRunner.Run(spec, workload, plan, CancellationToken.None, waiting);
        if (outcome.FirstError is { } error)
        {
            // A benchmark that throws has no figures, as with BenchmarkDotNet itself.
            ExceptionDispatchInfo.Throw(error);
        }

        if (outcome.Troubles.Count > 0)
        {
            throw new TimeoutException($"{outcome.Troubles[0]} Calls that wait for each other need as many workers as meet.");
        }

        windows.Learn(outcome);
        return outcome;
    }
}
