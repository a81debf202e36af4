using System.Diagnostics;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Costs;

/// <summary>Who owns the lock of a block, so that it costs that thread no fence.</summary>
public class BiasedLockTests
{
    /// <summary>More than the longest streak that a thread needs.</summary>
    private const int Many = 20_000;

    /// <summary>More than the streak that the first owner needs.</summary>
    private const int Few = 200;

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

    /// <summary>To take the lock from an owner needs a barrier, which would cost a block of a few messages more than all its entries.</summary>
    [Fact(Timeout = Eventually.Limit)]
    public Task Owner_OfANewLock_OnlyWhoHasEnteredOften() => OnAThread(() =>
    {
        Assert.SkipUnless(ProcessBarrier.IsAvailable, "Without the process-wide barrier, nobody owns the lock.");
        OnAThread(() => Enter(20)).Wait();
        Assert.False(_lock.HasOtherOwner);
        OnAThread(() => Enter(Few)).Wait();
        Assert.True(_lock.HasOtherOwner);
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

    /// <summary>
    /// A worker that goes idle reads the owner more than once. Between two of its reads, another thread takes the lock away: the compiler must not take what the
    /// first read saw for what the second one gives.
    /// </summary>
    [Fact(Timeout = Eventually.Limit)]
    public async Task EnterToGoIdle_AnotherThreadTakesTheLockAwayMeanwhile_OneIsInsideAtATime()
    {
        Assert.SkipUnless(ProcessBarrier.IsAvailable, "Without the process-wide barrier, nobody owns the lock.");
        const int Rounds = 4_000;
        int round = 0;
        int left = 0;
        int entries = 0;
        Task other = OnAThread(() =>
        {
            for (int i = 1; i <= Rounds; i++)
            {
                SpinWait.SpinUntil(() => Volatile.Read(ref round) != i - 1);
                if (round < i)
                {
                    return;
                }

                LockOwner? key = _lock.Enter();
                entries++;
                _lock.Exit(key);
                Volatile.Write(ref left, i);
            }
        });
        int own = 0;
        int rounds = 0;
        long began = Stopwatch.GetTimestamp();
        Task owner = OnAThread(() =>
        {
            try
            {
                // Where both threads share one processor, a round lasts as long as it is given to either of them.
                for (int i = 1; i <= Rounds && Stopwatch.GetElapsedTime(began) < Eventually.Patience; i++)
                {
                    rounds = i;
                    _lock = default;
                    Enter(Few);
                    Volatile.Write(ref round, i);
                    while (Volatile.Read(ref left) < i)
                    {
                        if (!_lock.HasOtherOwner)
                        {
                            LockOwner? key = _lock.EnterToGoIdle();
                            entries++;
                            _lock.Exit(key);
                            own++;
                        }
                    }
                }
            }
            finally
            {
                Volatile.Write(ref round, -1);
            }
        });
        await Task.WhenAll(owner, other);
        Assert.Equal(own + rounds, entries);
    }

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
