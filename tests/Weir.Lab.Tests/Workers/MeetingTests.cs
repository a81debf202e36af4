using Weir.Lab.Workers;

namespace Weir.Lab.Tests.Workers;

/// <summary>Operations that need each other: one ends only when another is called too. Whatever window they run in, it ends.</summary>
public class MeetingTests
{
    private const int Limit = 120_000;

    [Theory(Timeout = Limit)]
    [InlineData(2, 2, false)]
    [InlineData(4, 2, false)]
    [InlineData(4, 3, false)]
    [InlineData(2, 2, true)]
    [InlineData(4, 3, true)]
    public async Task RunAsync_OperationsThatMeet_AreMeasured(int workers, int participants, bool isAsync)
    {
        Meeting meeting = new(participants);
        Workload workload = new("meets", _ => isAsync ? Operation.OfAsync(meeting.ArriveAsync) : Operation.Of(meeting.Arrive));
        WorkerRunSpec spec = new()
        {
            Workload = workload.Name, Groups = [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)], Rounds = 3, Duration = TimeSpan.FromMilliseconds(20),
            LongestWarmUp = TimeSpan.FromMilliseconds(100), MostRepeats = 0, DrainLimit = TimeSpan.FromSeconds(60),
        };

        WorkerRun run = await new WorkerRunner(spec, null, static () => default).RunAsync(workload, TestContext.Current.CancellationToken);

        Assert.False(run.IsStuck, string.Join('\n', run.Troubles));
        Assert.Equal(3, run.Rounds.Count);
        Assert.All(run.Rounds, static round => Assert.True(round.Operations > 0));
    }

    [Fact(Timeout = Limit)]
    public async Task RunAsync_ProducersAndConsumers_EndTogether()
    {
        using SemaphoreSlim items = new(0);
        using SemaphoreSlim places = new(3);
        Workload workload = new("hands over", context => Operation.Of(context.Group == "in" ? Produce : Consume));
        WorkerRunSpec spec = new()
        {
            Workload = workload.Name, Groups = [new WorkerGroup("in", 1), new WorkerGroup("out", 3)], Rounds = 3, Duration = TimeSpan.FromMilliseconds(20),
            LongestWarmUp = TimeSpan.FromMilliseconds(100), MostRepeats = 0, DrainLimit = TimeSpan.FromSeconds(60),
        };

        WorkerRun run = await new WorkerRunner(spec, null, static () => default).RunAsync(workload, TestContext.Current.CancellationToken);

        Assert.False(run.IsStuck, string.Join('\n', run.Troubles));
        Assert.Equal(3, run.Rounds.Count);

        void Produce()
        {
            places.Wait();
            items.Release();
        }

        void Consume()
        {
            items.Wait();
            places.Release();
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Window_OfCountsThatDoNotComeOut_SaysThatItWaitsAndIsGivenUp()
    {
        Meeting meeting = new(2);
        List<string> waiting = [];
        Workload workload = new("meets", _ => Operation.Of(meeting.Arrive));
        WorkerRunSpec spec = new() { Workload = workload.Name, Groups = [new WorkerGroup(WorkerRunSpec.DefaultGroup, 3)], MeasuresLatency = false };
        WindowPlan plan = new(1, TimeSpan.Zero, new Dictionary<string, int> { [WorkerRunSpec.DefaultGroup] = 1 })
        {
            Whole = new WholeOperations { Each = 1 }, HasTimeline = false, Stall = (TimeSpan.FromMilliseconds(20), TimeSpan.FromMilliseconds(40)),
        };

        WindowOutcome outcome = await Task.Run(() => WindowRunner.Run(spec, workload, plan, CancellationToken.None, waiting.Add));

        // The third call has nobody to meet.
        meeting.Arrive();
        Assert.Equal(["end an operation"], waiting);
        Assert.True(outcome.IsStuck);
        Assert.Equal(["For 0.04 s no operation ended, and 1 of 3 workers had not done theirs."], outcome.Troubles);
    }

    /// <summary>A barrier of which any callers are the participants.</summary>
    private sealed class Meeting(int participants)
    {
        private readonly Lock _lock = new();
        private TaskCompletionSource _all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _here;

        public void Arrive() => ArriveAsync().GetAwaiter().GetResult();

        public Task ArriveAsync()
        {
            TaskCompletionSource all;
            lock (_lock)
            {
                all = _all;
                if (++_here < participants)
                {
                    return all.Task;
                }

                _here = 0;
                _all = new(TaskCreationOptions.RunContinuationsAsynchronously);
            }

            all.SetResult();
            return all.Task;
        }
    }
}
