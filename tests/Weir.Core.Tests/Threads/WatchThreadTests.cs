using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Threads;

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
}
