using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Costs;

/// <summary>Who owns the lock of a block, so that it costs that thread no fence.</summary>
public class BiasedLockTests
{
    /// <summary>More than the longest streak that a thread needs.</summary>
    private const int Many = 20_000;

    private BiasedLock _lock;

    [Fact(Timeout = Eventually.Limit)]
    public Task Owner_OneThreadAfterTheOther_EachThatComesOften() => OnAThread(() =>
    {
        Assert.SkipUnless(ProcessBarrier.IsAvailable, "Without the process-wide barrier, nobody owns the lock.");
        for (int i = 0; i < 20; i++)
        {
            OnAThread(() => Enter(Many)).Wait();

            Assert.True(_lock.HasOtherOwner, $"Thread {i} does not own the lock.");
            Enter(1);
            Assert.False(_lock.HasOtherOwner);
        }
    });

    /// <summary>Where the worker rests after a few messages, an owner's barriers at the rests would cost more than the spin lock.</summary>
    [Theory(Timeout = Eventually.Limit)]
    [InlineData(1_000, true)]
    [InlineData(100, false)]
    public Task Owner_WhoseWorkerRestsInBetween_OnlyIfThatIsRare(int entriesOfARest, bool expected) => OnAThread(() =>
    {
        Assert.SkipUnless(ProcessBarrier.IsAvailable, "Without the process-wide barrier, nobody owns the lock.");
        OnAThread(() => Enter(1)).Wait();
        Enter(1);
        bool isOwned = false;
        for (int i = 0; i < Many && !isOwned; i += entriesOfARest)
        {
            Enter(entriesOfARest);
            OnAThread(() =>
            {
                isOwned = _lock.HasOtherOwner;
                if (!isOwned)
                {
                    _lock.Exit(_lock.EnterToGoIdle());
                }
            }).Wait();
        }

        Assert.Equal(expected, isOwned);
    });

    private void Enter(int times)
    {
        for (int i = 0; i < times; i++)
        {
            _lock.Exit(_lock.Enter());
        }
    }

    private static Task OnAThread(Action action) =>
        Task.Factory.StartNew(action, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
}
