using System.Runtime.CompilerServices;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Threads;

public class ElasticTeamTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Queue_NoThreadStarts_TheWorkRunsOnThePoolAndTheNextStartsAThread(bool keeps)
    {
        bool fails = true;
        using ElasticTeam team = new(1, "failing", keeps, (thread, host) => Start(thread, host, Volatile.Read(ref fails)));
        Assert.True((await RunAsync(team)).IsThreadPoolThread);
        Volatile.Write(ref fails, false);
        Assert.False((await RunAsync(team)).IsThreadPoolThread);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Queue_SecondThreadDoesNotStart_TheFirstRunsTheWork(bool keeps)
    {
        int started = 0;
        using ElasticTeam team = new(2, "failing", keeps, (thread, host) => Start(thread, host, Interlocked.Increment(ref started) > 1));
        using ManualResetEventSlim open = new();
        Task<Thread> first = RunAsync(team, open);
        Task<Thread> second = RunAsync(team);
        Assert.False(second.IsCompleted);
        open.Set();
        Assert.Same(await first, await second);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ReplaceHost_NoThreadStarts_TheWorkRunsOnThePoolAndTheNextStartsAThread(bool keeps)
    {
        bool fails = false;
        using ElasticTeam team = new(1, "failing", keeps, (thread, host) => Start(thread, host, Volatile.Read(ref fails)));
        using ManualResetEventSlim open = new();
        TaskCompletionSource<object> host = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<Thread> stuck = RunAsync(team, open, host);
        object of = await host.Task;
        Task<Thread> waiting = RunAsync(team);
        Volatile.Write(ref fails, true);
        team.ReplaceHost(of);
        Assert.Equal(1, team.Replaced);
        Assert.True((await waiting).IsThreadPoolThread);
        Volatile.Write(ref fails, false);
        Thread next = await RunAsync(team);
        Assert.False(next.IsThreadPoolThread);
        open.Set();
        Assert.NotSame(next, await stuck);
    }

    // Whoever finds a thread stuck may be held up, and it comes back and waits for work before it is replaced.
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ReplaceHost_ItHasComeBackAndWaits_TheNextWorkRuns(bool keeps)
    {
        List<Thread> started = [];
        using ElasticTeam team = new(1, "back", keeps, (thread, host) =>
        {
            started.Add(thread);
            thread.Start(host);
        });
        TaskCompletionSource<object> host = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await RunAsync(team, open: null, host);
        Wait(started[0]);
        team.ReplaceHost(await host.Task);

        // Another one, if there is one, waits too.
        Wait(started[^1]);
        await RunAsync(team).WithinAsync();
        Assert.Equal(0, team.Replaced);

        static void Wait(Thread thread) =>
            Assert.True(SpinWait.SpinUntil(() => (thread.ThreadState & ThreadState.WaitSleepJoin) != 0, TimeSpan.FromSeconds(60)));
    }

    private static void Start(Thread thread, object host, bool fails)
    {
        if (fails)
        {
            throw new InvalidOperationException("No memory for a thread.");
        }

        thread.UnsafeStart(host);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Thread_ThatWaitsForWork_HoldsNothingOfTheLast(bool keeps)
    {
        using ElasticTeam team = new(2, "test", keeps);
        List<WeakReference> ran = [];
        for (int i = 0; i < 5; i++)
        {
            ran.Add(await RunAndForgetAsync(team));
        }

        await Leak.GoneAsync(ran, "the work that a waiting thread has done");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<WeakReference> RunAndForgetAsync(ElasticTeam team)
    {
        Work work = new(team, null, null);
        WeakReference weak = new(work);
        team.Queue(work);
        await work.Ran.Task.WithinAsync();
        return weak;
    }

    private static Task<Thread> RunAsync(ElasticTeam team, ManualResetEventSlim? open = null, TaskCompletionSource<object>? host = null)
    {
        Work work = new(team, open, host);
        team.Queue(work);
        return work.Ran.Task;
    }

    private sealed class Work(ElasticTeam team, ManualResetEventSlim? open, TaskCompletionSource<object>? host) : IThreadPoolWorkItem
    {
        public TaskCompletionSource<Thread> Ran { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public void Execute()
        {
            host?.SetResult(team.CurrentHost!);
            open?.Wait();
            Ran.SetResult(Thread.CurrentThread);
        }
    }
}
