using Weir.Lab.Resources;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>Runs that wait before each round until they may make it.</summary>
public class TurnTakingTests
{
    [Fact(Timeout = 300_000)]
    public async Task RunAsync_ObserverSaysEnough_IsCompleteWithTheRoundsBefore()
    {
        Leader leader = new(rounds: 2);

        WorkerRun run = await RunAsync(leader, static () => default);

        Assert.Equal(2, run.Rounds.Count);
        Assert.False(run.IsPartial);
        Assert.Equal([1, 2, 3], leader.Asked);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_RoundIsDoneAgain_HasNotGivenUpItsTurn()
    {
        int reading = 0;
        Leader leader = new(rounds: 2);

        WorkerRun run = await RunAsync(leader, () => new CanaryReading(1, ++reading == 2 ? 1 : 0, 0));

        Assert.Equal(2, run.Repeats);
        Assert.Equal([1, 2, 3], leader.Asked);
    }

    private static Task<WorkerRun> RunAsync(Leader leader, Func<CanaryReading> canary)
    {
        WorkerRunSpec spec = new() { Workload = "noop", Rounds = 100, Duration = TimeSpan.FromMilliseconds(5), LongestWarmUp = TimeSpan.Zero };
        return new WorkerRunner(spec, leader, canary).RunAsync(new Workload("noop", static _ => Operation.Of(static () => { }))).WithinAsync("the run");
    }

    private sealed class Leader(int rounds) : IRunObserver
    {
        public List<int> Asked { get; } = [];

        public async ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken)
        {
            await Task.Yield();
            Asked.Add(round);
            return round <= rounds;
        }
    }
}
