using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>
/// Batches of an asynchronous sequence. A partial batch goes out when its oldest item has waited for the time limit, even while
/// the sequence is silent. The step that is in progress then simply continues, and its item begins the next batch.
/// </summary>
internal sealed class TimedBatchSource<T>(IAsyncEnumerable<T> items, int batchSize, TimeSpan? timeout, TimeProvider time)
    : TurnSource<IReadOnlyList<T>>
{
    private readonly Lock _lock = new();
    private IAsyncEnumerator<T>? _enumerator;
    private ITimer? _timer;
    private T[] _batch = [];
    private int _count;
    private int _expected;
    private ValueTask<bool> _moving;
    private bool _isMoving;
    private bool _ended;

    // Shared with the callbacks of the step and of the timer, under the lock.
    private bool _moved;
    private bool _timerOn;
    private bool _due;
    private Action? _waiter;

    public override int KnownCount => -1;

    public override void OnReady(Action continuation)
    {
        using (_lock.Hold())
        {
            if (!_moved && !_due)
            {
                _waiter = continuation;
                return;
            }
        }

        ThreadPool.UnsafeQueueUserWorkItem(static action => action(), continuation, preferLocal: false);
    }

    public override async ValueTask DisposeAsync()
    {
        if (_timer is not null)
        {
            await _timer.DisposeAsync().ConfigureAwait(false);
        }

        if (_isMoving)
        {
            // Stopped between two claims: the step has seen the cancelled token or will see it. It must not be awaited twice, so its signal is awaited.
            _isMoving = false;
            await WaitForStepAsync().ConfigureAwait(false);
            try
            {
                _moving.GetAwaiter().GetResult();
            }
            catch (Exception)
            {
                // The run has already ended and has its outcome.
            }
        }

        if (_enumerator is not null)
        {
            await _enumerator.DisposeAsync().ConfigureAwait(false);
        }
    }

    protected override ClaimResult Advance(ref Chunk<IReadOnlyList<T>> chunk, int max, long index)
    {
        IAsyncEnumerator<T> enumerator = _enumerator ??= items.GetAsyncEnumerator(CancellationToken);
        while (!_ended)
        {
            if (_count >= batchSize || TakeDue())
            {
                return Seal(ref chunk, index);
            }

            if (IsHeld)
            {
                // The batch stays as it is, and a step that is in progress goes on.
                return ClaimResult.Paused;
            }

            if (!_isMoving)
            {
                ValueTask<bool> moving = enumerator.MoveNextAsync();
                if (moving.IsCompleted)
                {
                    Take(moving.GetAwaiter().GetResult());
                    continue;
                }

                _moving = moving;
                _isMoving = true;
                _moving.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => Signal(moved: true));
            }

            return ClaimResult.Pending;
        }

        return _count > 0 ? Seal(ref chunk, index) : ClaimResult.Empty;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishAdvance(ref Chunk<IReadOnlyList<T>> chunk, long index)
    {
        bool moved;
        using (_lock.Hold())
        {
            moved = _moved;
            _moved = false;
        }

        if (moved)
        {
            _isMoving = false;
            ValueTask<bool> moving = _moving;
            _moving = default;
            Take(moving.GetAwaiter().GetResult());
        }

        return Advance(ref chunk, 1, index);
    }

    private void Take(bool moved)
    {
        if (!moved)
        {
            _ended = true;
            return;
        }

        if (_count == _batch.Length)
        {
            // As long as the previous batch, and then doubling: a batch size may be far larger than any batch that ever comes.
            Array.Resize(ref _batch, (int)Math.Min(batchSize, Math.Max(Math.Max(4, _expected), 2L * _count)));
        }

        _batch[_count++] = _enumerator!.Current;
        if (_count == 1 && timeout is { } limit)
        {
            using (_lock.Hold())
            {
                _timerOn = true;
                _due = false;
            }

            _timer ??= time.CreateTimer(
                static source => ((TimedBatchSource<T>)source!).Signal(moved: false), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            _timer.Change(limit, Timeout.InfiniteTimeSpan);
        }
    }

    private ClaimResult Seal(ref Chunk<IReadOnlyList<T>> chunk, long index)
    {
        using (_lock.Hold())
        {
            _timerOn = false;
            _due = false;
        }

        _timer?.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        // A full batch goes out as it is.
        chunk.SetSingle(_count == _batch.Length ? _batch : _batch[.._count], index);
        _expected = _count;
        _count = 0;
        _batch = [];
        return ClaimResult.Claimed;
    }

    private bool TakeDue()
    {
        using (_lock.Hold())
        {
            bool due = _due && _count > 0;
            _due = false;
            return due;
        }
    }

    private Task WaitForStepAsync()
    {
        using (_lock.Hold())
        {
            if (_moved)
            {
                return Task.CompletedTask;
            }

            TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
            _timerOn = false;
            _waiter = ended.SetResult;
            return ended.Task;
        }
    }

    /// <summary>Called when the step has ended, or when the oldest item of the batch has waited long enough.</summary>
    private void Signal(bool moved)
    {
        Action? waiter;
        using (_lock.Hold())
        {
            if (moved)
            {
                _moved = true;
            }
            else if (_timerOn)
            {
                _due = true;
            }
            else
            {
                // A timer that fired just as its batch became full.
                return;
            }

            waiter = _waiter;
            _waiter = null;
        }

        waiter?.Invoke();
    }
}
