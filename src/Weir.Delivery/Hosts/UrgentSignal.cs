using System.Threading.Tasks.Sources;
using Weir.Core.Threads;

namespace Weir.Delivery;

/// <summary>
/// Wakes one waiter, so that it checks again. Several signals before it checks count as one. The waiter goes on on the pool, or after an urgent signal on a
/// spare thread if the pool has no thread free: handlers may hold all of them.
/// </summary>
internal sealed class UrgentSignal : IThreadPoolWorkItem, IValueTaskSource
{
    private readonly Lock _lock = new();
    private ManualResetValueTaskSourceCore<bool> _core;
    private bool _isSet;
    private bool _isWaiting;
    private bool _isQueued;

    /// <summary>Whether the waiter goes on on a spare thread, which may block: that holds up nobody, and what needs the pool would wait for it.</summary>
    public static bool IsOnSpareThread => SpareThreads.IsCurrent;

    public void Set()
    {
        if (Mark(queues: true))
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>The same, and the waiter does not wait for the pool.</summary>
    public void SetUrgently()
    {
        if (Mark(queues: false))
        {
            UrgentWork.Queue(this);
        }
    }

    /// <summary>Waits for a signal. Only one may wait.</summary>
    public ValueTask WaitAsync()
    {
        lock (_lock)
        {
            if (_isSet)
            {
                _isSet = false;
                return default;
            }

            _core.Reset();
            _isWaiting = true;
            return new ValueTask(this, _core.Version);
        }
    }

    /// <summary>Lets the waiter go on, on this thread, unless another thread has. It is an async method, whose task takes what it throws.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        lock (_lock)
        {
            if (!_isWaiting || !_isSet)
            {
                return;
            }

            (_isWaiting, _isSet, _isQueued) = (false, false, false);
        }

        _core.SetResult(true);
    }

    void IValueTaskSource.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    // Whether the waiter has to be queued: an urgent signal does it again.
    private bool Mark(bool queues)
    {
        lock (_lock)
        {
            _isSet = true;
            bool isNew = _isWaiting && !(queues && _isQueued);
            _isQueued |= isNew;
            return isNew;
        }
    }
}
