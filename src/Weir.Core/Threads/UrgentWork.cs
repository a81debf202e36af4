using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Threads;

/// <summary>
/// Work that has to start soon, after a time limit or the end of a run. It is queued to the thread pool like all work. If no pool thread has taken it
/// within some milliseconds, a spare thread does.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends when the work begins.")]
internal sealed class UrgentWork : IThreadPoolWorkItem
{
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(5);

    private readonly IThreadPoolWorkItem _work;
    private readonly WatchTimer _timer;
    private int _begun;

    private UrgentWork(IThreadPoolWorkItem work)
    {
        _work = work;
        _timer = new WatchTimer(static work => ((UrgentWork)work!).MoveToSpare(), this);
    }

    public static void Queue(IThreadPoolWorkItem work)
    {
        UrgentWork urgent = new(work);
        urgent._timer.Change(Patience, Timeout.InfiniteTimeSpan);
        ThreadPool.UnsafeQueueUserWorkItem(urgent, preferLocal: false);
    }

    void IThreadPoolWorkItem.Execute()
    {
        if (Interlocked.Exchange(ref _begun, 1) == 0)
        {
            _timer.Dispose();
            _work.Execute();
        }
    }

    private void MoveToSpare()
    {
        if (Interlocked.Exchange(ref _begun, 1) == 0)
        {
            try
            {
                SpareThreads.Queue(_work);
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
