using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>dotnet/runtime 123432: a reader that races with the writer could see null.</summary>
public class WriteOnceRaceTests
{
    [Fact(Timeout = Eventually.Limit)]
    public async Task TryReceive_RacingWithPost_NeverSeesNull_123432()
    {
        WriteOnceBlock<string>? current = null;
        string? seen = null;
        using var turn = new Barrier(2);

        // A thread of its own: those of the pool may all be taken, and each round would wait for one.
        Task reading = Task.Factory.StartNew(
            () =>
            {
                while (true)
                {
                    turn.SignalAndWait();
                    if (current is not { } block)
                    {
                        return;
                    }

                    // Gives its processor away after some looks: the writer may be waiting for it.
                    SpinWait.SpinUntil(() => block.TryReceive(null, out seen));
                    turn.SignalAndWait();
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
        foreach (int _ in Rounds.UpTo(500))
        {
            seen = null;
            current = new WriteOnceBlock<string>(null);
            turn.SignalAndWait();
            current.Post("a");
            turn.SignalAndWait();
            Assert.Equal("a", seen);
        }

        current = null;
        turn.SignalAndWait();
        await Eventually.Done(reading);
    }
}
