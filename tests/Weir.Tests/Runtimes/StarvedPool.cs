namespace Weir.Tests.Runtimes;

/// <summary>A thread pool of a few threads that gets no more. Only for tests that run alone in the process.</summary>
internal sealed class StarvedPool : IDisposable
{
    public const int Threads = 6;

    private readonly Gate _gate = new();
    private readonly (int Workers, int Io) _min;
    private readonly (int Workers, int Io) _max;

    public StarvedPool()
    {
        ThreadPool.GetMinThreads(out _min.Workers, out _min.Io);
        ThreadPool.GetMaxThreads(out _max.Workers, out _max.Io);
        Assert.True(ThreadPool.SetMinThreads(Math.Min(Threads, _min.Workers), _min.Io));
        Assert.True(ThreadPool.SetMaxThreads(Threads, _max.Io));
        Assert.True(ThreadPool.SetMinThreads(Threads, _min.Io));
    }

    /// <summary>Holds all threads of the pool until the end. Whatever is queued from now on waits.</summary>
    public void HoldAll()
    {
        using CountdownEvent held = new(Threads - 1);
        for (int i = 0; i < 2 * Threads; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                _ =>
                {
                    try
                    {
                        held.Signal();
                    }
                    catch (Exception e) when (e is InvalidOperationException or ObjectDisposedException)
                    {
                        // One more than was waited for.
                    }

                    _gate.Wait();
                },
                null);
        }

        // One thread may be the test's own.
        Assert.True(held.Wait(TimeSpan.FromSeconds(60)), "The pool has its threads.");
    }

    /// <summary>Waits with the thread of the test, because the pool has none to go on with.</summary>
    public static T ResultOf<T>(Task<T> run)
    {
        Assert.True(run.Wait(TimeSpan.FromSeconds(60)), "The run ends.");
        return run.GetAwaiter().GetResult();
    }

    public void Dispose()
    {
        _gate.Dispose();
        ThreadPool.SetMaxThreads(_max.Workers, _max.Io);
        ThreadPool.SetMinThreads(_min.Workers, _min.Io);
    }
}
