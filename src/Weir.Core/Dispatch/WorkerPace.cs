using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>
/// How many items a worker takes before it reads the clock again: one at first and after each suspension, twice as many each time
/// they were quick, so that neither the clock nor the claim costs anything when items are tiny.
/// </summary>
internal struct WorkerPace
{
    private const int Most = 256;
    private static readonly long Quick = Stopwatch.Frequency / 200_000;
    private static readonly long Slow = Stopwatch.Frequency / 50_000;

    private long _driveStarted;
    private long _sliceStarted;
    private float _reading;
    private float _work;
    private int _size;

    /// <summary>The number of items until the next reading of the clock.</summary>
    public int Left;

    /// <summary>Whether the first item since the last look has yet to be read, which <see cref="Sample"/> times.</summary>
    public bool IsSampling;

    /// <summary>Starts again after a suspension: one item, without reading the clock.</summary>
    public void Reset()
    {
        _driveStarted = 0;
        _sliceStarted = 0;
        _size = 1;
        Left = 1;
        IsSampling = false;
    }

    /// <summary>
    /// Records how long it took to read the item that comes now, and asks for help with what comes after it, which no worker is reading any more.
    /// </summary>
    public void Sample(Pump run)
    {
        IsSampling = false;
        long now = Stopwatch.GetTimestamp();
        _reading = now - _sliceStarted;

        // The duration of the very first item's work is not known yet. If it took long to arrive, the next item may as well be read meanwhile.
        float work = _work == 0 && run.NextIndex <= 1 ? _reading : _work;
        if (work > 0)
        {
            run.ConsiderHelp(_driveStarted, now, work);
        }
    }

    /// <summary>Reads the clock and decides how many items come next.</summary>
    /// <param name="run">The run.</param>
    /// <param name="quantum">How long a worker may have a thread, in Stopwatch ticks.</param>
    /// <param name="takesTurns">Whether asking for help makes sense only after the next item has been read.</param>
    /// <returns>Whether the worker may continue; if not, it has had the thread for long enough.</returns>
    public bool Measure(Pump run, long quantum, bool takesTurns)
    {
        if (quantum == long.MaxValue && run.IsAlone)
        {
            // Nobody waits for the thread or for an item, so the clock has nothing to say.
            _size = Math.Clamp(_size * 2, 1, Most);
            Left = _size;
            return true;
        }

        long now = Stopwatch.GetTimestamp();
        if (_driveStarted == 0)
        {
            _driveStarted = now;
            _size = Math.Max(1, _size);
            _work = 0;
        }
        else if (_sliceStarted != 0)
        {
            long took = now - _sliceStarted;
            if (takesTurns)
            {
                _work = Math.Max(0, ((float)took / _size) - _reading);
            }
            else
            {
                run.ConsiderHelp(_driveStarted, now, (double)took / _size);
            }

            if (run.Orders is not null)
            {
                // One item at a time: what has been claimed begins.
            }
            else if (took < Quick)
            {
                _size = Math.Min(Most, _size * 2);
            }
            else if (took > Slow)
            {
                _size = Math.Max(1, _size / 2);
            }
        }

        _sliceStarted = now;
        _reading = 0;
        IsSampling = takesTurns;
        Left = _size;
        if (now - _driveStarted > quantum)
        {
            Reset();
            Left = 0;
            return false;
        }

        return true;
    }
}
