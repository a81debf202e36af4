using System.Diagnostics;

namespace Weir.Overload;

/// <summary>What the service's calls need, and what bounds it: a number of calls at once, each for its time. It can change while calls run.</summary>
/// <remarks>
/// <para>
/// <see cref="ServerKind.Slots"/> is a pool, as of connections: a call waits for one of the slots, first come, first served, and holds it for its time.
/// <see cref="ServerKind.Knee"/> has no queue and slows all down: with more calls at once than slots, each call takes longer, and all together take longer than one
/// after the other would: 3 % for each call too many. Its work of a call is decided when the call begins.
/// </para>
/// <para>
/// Time is work done, not the clock's: it passes at <see cref="_rate"/>, and not at all in a pause. A slot is handed on at the moment at which its call should
/// have ended, so a timer that rings late takes nothing from the capacity.
/// </para>
/// </remarks>
internal sealed class Capacity(ServerKind kind, int slots)
{
    private const double LostPerCall = 0.03;
    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(20);

    private readonly Lock _lock = new();

    // Under _lock. Work time is _work at _since, in seconds.
    private readonly LinkedList<TaskCompletionSource<double>> _waiting = [];
    private int _slots = slots;
    private int _inUse;
    private double _rate = 1;
    private double _work;
    private long _since = Stopwatch.GetTimestamp();
    private long _done;

    /// <summary>How many calls have got all of their work, whoever still wanted it.</summary>
    public long Done => Interlocked.Read(ref _done);

    /// <summary>Changes how much there is.</summary>
    /// <param name="slots">How many calls it works on at once.</param>
    /// <param name="rate">How fast: 1 as at the start, 0 for a pause.</param>
    public void Change(int slots, double rate)
    {
        lock (_lock)
        {
            _work = NowNeedsLock();
            _since = Stopwatch.GetTimestamp();
            _rate = rate;
            _slots = slots;
            ServeNeedsLock(_work);
        }
    }

    /// <summary>Does the work of a call.</summary>
    /// <param name="seconds">How long it takes alone.</param>
    /// <param name="token">Gives it up: its slot is free at once.</param>
    public async Task WorkAsync(double seconds, CancellationToken token)
    {
        double end = await EnterAsync(token) + seconds;
        if (kind == ServerKind.Knee)
        {
            lock (_lock)
            {
                double over = Math.Max(0, _inUse - _slots);
                end += seconds * (((1 + (over / _slots)) * (1 + (LostPerCall * over))) - 1);
            }
        }

        bool isDone = false;
        try
        {
            while (LeftUntil(end) is { } left)
            {
                await Task.Delay(left, token);
            }

            isDone = true;
            Interlocked.Increment(ref _done);
        }
        finally
        {
            Leave(isDone ? end : double.MaxValue);
        }
    }

    private async ValueTask<double> EnterAsync(CancellationToken token)
    {
        LinkedListNode<TaskCompletionSource<double>> node;
        lock (_lock)
        {
            if (kind == ServerKind.Knee || _inUse < _slots)
            {
                _inUse++;
                return NowNeedsLock();
            }

            node = _waiting.AddLast(new TaskCompletionSource<double>(TaskCreationOptions.RunContinuationsAsynchronously));
        }

        using CancellationTokenRegistration link = token.UnsafeRegister(
            _ =>
            {
                lock (_lock)
                {
                    if (node.List is null)
                    {
                        return;
                    }

                    _waiting.Remove(node);
                }

                node.Value.TrySetCanceled(token);
            },
            null);
        return await node.Value.Task;
    }

    private void Leave(double end)
    {
        lock (_lock)
        {
            _inUse--;
            ServeNeedsLock(Math.Min(end, NowNeedsLock()));
        }
    }

    private void ServeNeedsLock(double start)
    {
        while (_inUse < _slots && _waiting.First is { } first)
        {
            _waiting.RemoveFirst();
            _inUse++;
            first.Value.TrySetResult(start);
        }
    }

    private double NowNeedsLock() => _work + (Stopwatch.GetElapsedTime(_since).TotalSeconds * _rate);

    /// <summary>How long to wait before it is looked at again; null if the work is done.</summary>
    private TimeSpan? LeftUntil(double end)
    {
        lock (_lock)
        {
            double left = end - NowNeedsLock();
            return left <= 0 ? null
                : _rate == 0 ? Look
                : TimeSpan.FromMilliseconds(Math.Ceiling(1000 * left / _rate));
        }
    }
}
