using Weir.Lab.Workers;

namespace Weir.Lab.Tests.Workers;

/// <summary>Runs that are given up because a worker stands still.</summary>
public class StuckWorkerTests
{
    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(3)]
    public async Task RunAsync_OperationThatNeverEnds_SaysThatAndNothingElse(int rounds)
    {
        using ManualResetEventSlim end = new();
        Workload workload = new("stands still", _ => Operation.Of(end.Wait));
        WorkerRunSpec spec = new() { Workload = workload.Name, Rounds = rounds, DrainLimit = TimeSpan.FromMilliseconds(100) };

        // The calls around the operations have no such limit: a thread that is held up for 100 ms would end the run before its first operation.
        WorkerRun run = await new WorkerRunner(spec, null, static () => default) { CallLimit = TimeSpan.FromHours(1) }.RunAsync(workload);
        end.Set();

        Assert.True(run.IsStuck);
        Assert.Equal(["No operation was completed in a measured window.", "Round 1: A worker did not end its first operation within 0.1 s."], run.Troubles);
        Assert.DoesNotContain(run.Warnings, static w => w.Text.Contains("steady", StringComparison.Ordinal));
    }
}
