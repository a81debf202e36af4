using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Threads;

/// <summary>
/// Work that has to start soon: after a time limit, at the end of a run, or while the calls of a run block. It is queued to the thread pool like all work. If
/// no pool thread has taken it in time, a spare thread does.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends when the work begins.")]
internal sealed class UrgentWork : IThreadPoolWorkItem
{
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(5);

    private readonly WatchTimer _timer;
    private IThreadPoolWorkItem? _work;
    private int _begun;

    private UrgentWork(IThreadPoolWorkItem work)
    {
        _work = work;
        _timer = new WatchTimer(static work => ((UrgentWork)work!).MoveToSpare(), this);
    }

    public static void Queue(IThreadPoolWorkItem work) => Queue(work, Patience);

    /// <summary>Queues work.</summary>
    /// <param name="work">The work.</param>
    /// <param name="patience">How long it waits for a thread of the pool.</param>
    public static void Queue(IThreadPoolWorkItem work, TimeSpan patience)
    {
        UrgentWork urgent = new(work);
        urgent._timer.Change(patience, Timeout.InfiniteTimeSpan);
        ThreadPool.UnsafeQueueUserWorkItem(urgent, preferLocal: false);
    }

    void IThreadPoolWorkItem.Execute()
    {
        if (Interlocked.Exchange(ref _begun, 1) == 0)
        {
            _timer.Dispose();
            _work!.Execute();
        }
    }

    private void MoveToSpare()
    {
        if (Interlocked.Exchange(ref _begun, 1) == 0)
        {
            try
            {
                SpareThreads.Queue(_work!);

                // This stays in the pool's queue until a thread of the pool is free, and would hold a run that has ended.
                _work = null;
            }
            catch (Exception)
            {
                // There is no memory. The pool may still take it; else the timer fires again.
                Volatile.Write(ref _begun, 0);
                throw;
            }
        }
    }
}
