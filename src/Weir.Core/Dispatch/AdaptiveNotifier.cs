using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Reports changes of the limit to the user: one call at a time, in order, on the thread pool. Changes that come during a call are reported
/// together, so nothing queues up behind a slow callback.
/// </summary>
internal sealed class AdaptiveNotifier(Func<int, int, ValueTask> callback, int initial) : IThreadPoolWorkItem
{
    private ExecutionContext? _context;
    private int _reported = initial;
    private int _now = initial;
    private int _pending;

    public void SetContext(ExecutionContext? context) => _context = context;

    /// <summary>Called by one thread at a time.</summary>
    public void Changed(int limit)
    {
        Volatile.Write(ref _now, limit);
        if (Interlocked.Increment(ref _pending) == 1)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    // Nobody waits for it. If it fails, the next change is reported from the limit that was reported last; without the zero, none would be queued any more.
    void IThreadPoolWorkItem.Execute() => Unattended.Run(
        this, static notifier => notifier.Notify(), static (notifier, _) => Interlocked.Exchange(ref notifier._pending, 0));

    private void Notify()
    {
        if (_context is { } context)
        {
            ExecutionContext.Run(context, static notifier => _ = ((AdaptiveNotifier)notifier!).NotifyAsync(), this);
        }
        else
        {
            _ = NotifyAsync();
        }
    }

    private async Task NotifyAsync()
    {
        int seen;
        do
        {
            seen = Volatile.Read(ref _pending);
            int now = Volatile.Read(ref _now);
            int before = _reported;
            if (now != before)
            {
                _reported = now;
                try
                {
                    await callback(before, now).ConfigureAwait(false);
                }
                catch (Exception)
                {
                    // Nobody asked for the outcome, and a callback's failure must not fail the run. Documented at the option.
                }
            }
        }
        while (Interlocked.Add(ref _pending, -seen) != 0);
    }
}
