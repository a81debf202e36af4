namespace Weir.Resilience.Tests.ConcurrencyLimit;

/// <summary>Does a thread that is interrupted while it waits for the lock give back what it holds all the same?</summary>
public class InterruptTests
{
    [Fact(Timeout = 90_000)]
    public async Task Leave_InterruptedWhileItWaitsForTheLock_ReturnsThePlaceAndKeepsTheInterrupt()
    {
        SharedConcurrencyLimit limit = new(2);
        Assert.True(limit.TryEnter());
        Assert.True(limit.TryEnter());
        bool holds = false;
        using Gate inside = new();
        using Gate gate = new();
        PlaceUser user = new(limit, () =>
        {
            // Asked under the lock, when a place is to be given to the turn that waits.
            if (Volatile.Read(ref holds))
            {
                inside.Open();
                gate.Wait();
            }

            return 5;
        });
        PlaceTurn turn = user.Queue();
        Volatile.Write(ref holds, true);
        Task holder = Task.Run(limit.Leave, TestContext.Current.CancellationToken);
        await inside.WaitAsync(TestContext.Current.CancellationToken);

        Exception? thrown = null;
        bool kept = false;
        Thread leaver = new(() =>
        {
            try
            {
                limit.Leave();
            }
            catch (ThreadInterruptedException e)
            {
                thrown = e;
                return;
            }

            try
            {
                new ManualResetEventSlim().Wait(TimeSpan.FromSeconds(60), CancellationToken.None);
            }
            catch (ThreadInterruptedException)
            {
                kept = true;
            }
        });
        leaver.Start();
        await Guard.UntilAsync(() => leaver.ThreadState.HasFlag(ThreadState.WaitSleepJoin), "the wait for the lock");
        leaver.Interrupt();
        gate.Open();
        await Task.Run(leaver.Join, TestContext.Current.CancellationToken).WithinAsync();

        await holder.WithinAsync();
        await turn.Served.WithinAsync();
        Assert.Null(thrown);
        Assert.True(kept);
        Assert.Equal(1, limit.InUse);
    }
}
