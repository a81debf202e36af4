using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.Parameters;
using BenchmarkDotNet.Toolchains.Results;
using Weir.Lab.Benchmarks.Settings;
using Weir.Lab.Benchmarks.Building;

namespace Weir.Lab.Benchmarks.Tests;

public class StoppableExecutorTests
{
    [Theory]
    [InlineData(false, 1)]
    [InlineData(true, 0)]
    public void Execute_RunsUntilAskedToStop(bool isStopped, int runs)
    {
        Counting inner = new();

        ExecuteResult result = RunSettings.Use(
            RunSettings.None with { Stop = new CancellationToken(isStopped) },
            () => new StoppableExecutor(inner).Execute(new ExecuteParameters(null!, null!, default, null!, null!, 1, default)));

        Assert.Equal(runs, inner.Runs);
        Assert.Equal(isStopped ? -1 : 0, result.ExitCode);
    }

    private sealed class Counting : IExecutor
    {
        public int Runs { get; private set; }

        public ExecuteResult Execute(ExecuteParameters executeParameters)
        {
            Runs++;
            return new ExecuteResult(
                foundExecutable: true, exitCode: 0, processId: 1, results: ["// one"], prefixedLines: [], standardOutput: [], launchIndex: 1);
        }
    }
}
