using BenchmarkDotNet.Toolchains.Parameters;
using BenchmarkDotNet.Toolchains.Results;

namespace Weir.Lab.Benchmarks.Building;

/// <summary>
/// Runs nothing more after the run was asked to stop, so that BenchmarkDotNet, which cannot be stopped, summarizes what was measured until then.
/// </summary>
internal sealed class StoppableExecutor(IExecutor executor) : IExecutor
{
    public ExecuteResult Execute(ExecuteParameters executeParameters) => RunSettings.Current.Stop.IsCancellationRequested
        ? new ExecuteResult(
            foundExecutable: true, exitCode: -1, processId: null, results: [], prefixedLines: [], standardOutput: [], executeParameters.LaunchIndex)
        : executor.Execute(executeParameters);
}
