using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Threads;
using Weir.TestKit;

namespace Weir.Core.Tests.Threads;

public class WatchThreadTests
{
    private static readonly TimeSpan Soon = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan Never = TimeSpan.FromHours(1);

    [Fact]
    public async Task Timer_Due_FiresOnTheWatchsThreadAndNeverEarly()
    {
        WatchThread watch = new(TimeSpan.FromSeconds(1));
        TaskCompletionSource<(bool IsPool, bool IsBackground, long At)> fired = new(TaskCreationOptions.RunContinuationsAsynchronously);

        // The thread is asked while it runs: the watch ends when it has nothing to do.
        WatchTimer timer = new(
            watch, _ => fired.TrySetResult((Thread.CurrentThread.IsThreadPoolThread, Thread.CurrentThread.IsBackground, Stopwatch.GetTimestamp())), null);
        long started = Stopwatch.GetTimestamp();
        timer.Change(Soon, Timeout.InfiniteTimeSpan);

        (bool isPool, bool isBackground, long at) = await fired.Task.WithinAsync("the timer");
        Assert.False(isPool);
        Assert.True(isBackground);
        Assert.True(Stopwatch.GetElapsedTime(started, at) >= Soon);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Thread_ThatWaits_HoldsNoTimerThatIsOver(bool fires)
    {
        WatchThread watch = new(TimeSpan.FromMinutes(5));
        List<WeakReference> states = [];
        for (int i = 0; i < 5; i++)
        {
            states.Add(await UseTimerAsync(watch, fires));
        }

        await Leak.GoneAsync(states, "what a timer leads to that has fired or was removed");
        Assert.True(watch.IsRunning);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<WeakReference> UseTimerAsync(WatchThread watch, bool fires)
    {
        TaskCompletionSource state = new(TaskCreationOptions.RunContinuationsAsynchronously);
        WatchTimer timer = new(watch, static state => ((TaskCompletionSource)state!).TrySetResult(), state);
        timer.Change(fires ? Soon : Never, Timeout.InfiniteTimeSpan);
        if (fires)
        {
            await state.Task.WithinAsync("the timer");
        }
        else
        {
            // The thread looks at it, and waits for it.
            await Guard.PauseAsync();
        }

        timer.Dispose();
        return new WeakReference(state);
    }

    [Fact]
    public async Task Timer_SetEarlierThanTheFirst_WakesTheThread()
    {
        WatchThread watch = new(TimeSpan.FromSeconds(1));
        WatchTimer late = new(watch, static _ => { }, null);
        late.Change(Never, Timeout.InfiniteTimeSpan);
        await Guard.PauseAsync();

        TaskCompletionSource fired = new(TaskCreationOptions.RunContinuationsAsynchronously);
        new WatchTimer(watch, _ => fired.TrySetResult(), null).Change(Soon, Timeout.InfiniteTimeSpan);
        await fired.Task.WithinAsync("the earlier timer");
        late.Dispose();
    }

    [Fact]
    public async Task Timer_WithPeriod_FiresUntilItIsDisposed()
    {
        WatchThread watch = new(Soon);
        int fired = 0;
        WatchTimer timer = new(watch, _ => Interlocked.Increment(ref fired), null);
        timer.Change(Soon, Soon);
        await Guard.UntilAsync(() => Volatile.Read(ref fired) > 2, "the third firing");

        timer.Dispose();
        await Guard.UntilAsync(() => !watch.IsRunning, "the end of the thread");
        int seen = fired;
        Assert.False(timer.Change(Soon, Soon));
        await Guard.PauseAsync();
        Assert.Equal(seen, fired);
    }

    [Fact]
    public async Task Thread_NoTimerForTheGraceTime_EndsAndStartsAgain()
    {
        WatchThread watch = new(Soon);
        WatchTimer timer = new(watch, static _ => { }, null);
        for (int round = 0; round < 3; round++)
        {
            timer.Change(Never, Timeout.InfiniteTimeSpan);
            await Guard.PauseAsync();
            Assert.True(watch.IsRunning);

            timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            await Guard.UntilAsync(() => !watch.IsRunning, "the end of the thread");
        }
    }

    /// <summary>The thread ends all the time here, so that many timers are set just as it does.</summary>
    [Fact]
    public async Task Thread_EndsWhileTimersAreSet_LosesNone()
    {
        WatchThread watch = new(TimeSpan.FromMilliseconds(1));
        Task[] setters = [.. Enumerable.Range(0, 3).Select(seed => Task.Run(() => SetManyAsync(watch, new Random(seed))))];
        await Task.WhenAll(setters).WithinAsync("all timers");
        await Guard.UntilAsync(() => !watch.IsRunning, "the end of the thread");
    }

    [Fact]
    public void Heap_SetAndRemovedAtRandom_KeepsTheEarliestFirst()
    {
        Random random = new(7);
        TimerHeap heap = new();
        List<WatchTimer> inside = [];
        List<WatchTimer> all = [.. Enumerable.Range(0, 60).Select(static _ => new WatchTimer(static _ => { }, null))];
        for (int step = 0; step < 20_000; step++)
        {
            WatchTimer timer = all[random.Next(all.Count)];
            if (random.Next(3) == 0)
            {
                heap.Remove(timer);
                inside.Remove(timer);
            }
            else
            {
                timer.Due = random.Next(1000);
                heap.Set(timer);
                if (!inside.Contains(timer))
                {
                    inside.Add(timer);
                }
            }

            Assert.Equal(inside.Count, heap.Count);
            if (inside.Count > 0)
            {
                Assert.Equal(inside.Min(static t => t.Due), heap.First.Due);
            }
        }
    }

    private static async Task SetManyAsync(WatchThread watch, Random random)
    {
        for (int i = 0; i < 200; i++)
        {
            TaskCompletionSource fired = new(TaskCreationOptions.RunContinuationsAsynchronously);
            WatchTimer timer = new(watch, _ => fired.TrySetResult(), null);
            timer.Change(TimeSpan.FromMicroseconds(random.Next(3000)), Timeout.InfiniteTimeSpan);
            await fired.Task.WithinAsync("a timer");
        }
    }
}
