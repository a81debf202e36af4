using System.Diagnostics.CodeAnalysis;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Gives up the remaining items of a run, repeatedly, until it has ended. After some milliseconds, what is left is no worker between two items but code that
/// cannot be given up, such as that of a sequence, and may take for ever: so it looks less and less often.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "It ends its timer itself.")]
internal sealed class AbandonTimer
{
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(1);

    private readonly Pump _run;
    private readonly ItemStatus _status;
    private readonly Exception? _error;
    private readonly WatchTimer _timer;
    private TimeSpan _pause = TimeSpan.FromMilliseconds(1);

    public AbandonTimer(Pump run, ItemStatus status, Exception? error)
    {
        _run = run;
        _status = status;
        _error = error;
        _timer = new WatchTimer(static again => ((AbandonTimer)again!).Run(), this);
    }

    public void Wait() => _timer.Change(_pause, Timeout.InfiniteTimeSpan);

    private void Run()
    {
        if (_run.AbandonAll(_status, _error))
        {
            _timer.Dispose();
            return;
        }

        _pause = _pause < Longest / 2 ? 2 * _pause : Longest;
        Wait();
    }
}
