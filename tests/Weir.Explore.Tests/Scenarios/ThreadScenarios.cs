using Weir.Core.Threads;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>The engine's own thread, which runs timers, and work that has to start soon.</summary>
public class ThreadScenarios(ITestOutputHelper output)
{
    private static readonly TimeSpan Soon = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan Late = TimeSpan.FromHours(1);

    [Fact]
    public void Watch_ThatEndsAsTimersAreSet_FiresThem() => output.Explored(
        static async () =>
        {
            WatchThread watch = new(Soon);
            await Task.WhenAll(Task.Run(() => FiredAsync(watch)), Task.Run(() => FiredAsync(watch)));
            await FiredAsync(watch);
        },
        new ExploreOptions { TimersFireAnyTime = true });

    [Fact]
    public void Timer_SetEarlierThanTheFirst_WakesTheWatch() => output.Explored(static async () =>
    {
        WatchThread watch = new(Late);
        WatchTimer late = new(watch, static _ => { }, null);
        Task setting = Task.Run(() => late.Change(Late, Timeout.InfiniteTimeSpan));
        await FiredAsync(watch);
        await setting;
        late.Dispose();
        Assert.InRange(Environment.TickCount64, 0, 10);
    });

    [Fact]
    public void Host_ReplacedAsItComesBack_LosesNoWork() => output.Explored(static async () =>
    {
        ElasticTeam team = new(1, "team", keeps: true);
        TaskCompletionSource<object> host = new(TaskCreationOptions.RunContinuationsAsynchronously);
        team.Queue(new Work(() => host.SetResult(team.CurrentHost!)));
        team.ReplaceHost(await host.Task);
        Work next = new();
        team.Queue(next);
        await next.Ran.Task;
        team.Dispose();
    });

    [Fact]
    public void Timer_DisposedOfAsItFires_FiresNoMore() => output.Explored(static async () =>
    {
        WatchThread watch = new(Soon);
        int fired = 0;
        TaskCompletionSource second = new(TaskCreationOptions.RunContinuationsAsynchronously);
        WatchTimer timer = new(
            watch,
            _ =>
            {
                if (Interlocked.Increment(ref fired) == 2)
                {
                    second.SetResult();
                }
            },
            null);
        timer.Change(Soon, Soon);
        await second.Task;
        timer.Dispose();
        Assert.False(timer.Change(Soon, Soon));

        // It may have been firing.
        await Task.Delay(Late, TimeProvider.System);
        Assert.InRange(fired, 2, 3);
        Assert.False(watch.IsRunning);
    });

    [Fact]
    public void UrgentWork_WhosePatienceEndsAsItBegins_RunsOnce() => output.Explored(
        static async () =>
        {
            Work work = new();
            UrgentWork.Queue(work);
            await work.Ran.Task;
            await Task.Delay(Late, TimeProvider.System);
            Assert.Equal(1, work.Runs);
        },
        new ExploreOptions { TimersFireAnyTime = true });

    private static async Task FiredAsync(WatchThread watch)
    {
        TaskCompletionSource fired = new(TaskCreationOptions.RunContinuationsAsynchronously);
        new WatchTimer(watch, _ => fired.TrySetResult(), null).Change(Soon, Timeout.InfiniteTimeSpan);
        await fired.Task;
    }

    private sealed class Work(Action? run = null) : IThreadPoolWorkItem
    {
        private int _runs;

        public int Runs => _runs;

        public TaskCompletionSource Ran { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public void Execute()
        {
            Interlocked.Increment(ref _runs);
            run?.Invoke();
            Ran.TrySetResult();
        }
    }
}
