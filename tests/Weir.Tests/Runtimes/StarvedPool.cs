namespace Weir.Tests.Runtimes;

/// <summary>A thread pool of a few threads that gets no more. Only for tests that run alone in the process.</summary>
internal sealed class StarvedPool : IDisposable
{
    public const int Threads = 6;

    private readonly Gate _gate = new();
    private readonly (int Workers, int Io) _min;
    private readonly (int Workers, int Io) _max;
    private int _held;

    public StarvedPool()
    {
        ThreadPool.GetMinThreads(out _min.Workers, out _min.Io);
        ThreadPool.GetMaxThreads(out _max.Workers, out _max.Io);
        Assert.True(ThreadPool.SetMinThreads(Math.Min(Threads, _min.Workers), _min.Io));
        Assert.True(ThreadPool.SetMaxThreads(Threads, _max.Io));
        Assert.True(ThreadPool.SetMinThreads(Threads, _min.Io));
    }

    /// <summary>Holds all threads of the pool until the end. Whatever is queued from now on waits.</summary>
    /// <remarks>
    /// More holders are queued than there are threads, and first come, first served. So a thread that is still busy, with the test itself or with what an
    /// earlier test left behind, also takes a holder before nearly anything that is queued later: a test need not fail because it never gets free.
    /// </remarks>
    public void HoldAll()
    {
        HoldMore();

        // One thread may be the test's own.
        if (!SpinWait.SpinUntil(() => Volatile.Read(ref _held) >= Threads - 1, TimeSpan.FromSeconds(20)))
        {
            Assert.True(Volatile.Read(ref _held) > 0, "The pool has begun with the holders.");
        }
    }

    /// <summary>
    /// Runs something for which the pool must have no thread. The pool adjusts its size while it gets its new limits, and may then have more threads than
    /// they allow: some more holders take these.
    /// </summary>
    /// <param name="run">Runs it.</param>
    /// <param name="hadNone">Whether no thread took part in it.</param>
    public void WithoutAny<T>(Func<T> run, Func<T, bool> hadNone)
    {
        HoldAll();
        for (int i = 0; !hadNone(run()); i++)
        {
            Assert.True(i < 10, "The pool has no thread left.");
            HoldMore();
        }
    }

    private void HoldMore()
    {
        for (int i = 0; i < 2 * Threads; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                _ =>
                {
                    Interlocked.Increment(ref _held);
                    _gate.Wait();
                },
                null);
        }
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
