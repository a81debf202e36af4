using System.Runtime.InteropServices;

namespace Weir.Runtimes;

/// <summary>
/// Decides how many items may be in flight from how long they take. The limit doubles after each window until the first bad sign. Then it follows the
/// latency relative to a slowly moving baseline, as in Vegas and Netflix's concurrency-limits.
/// </summary>
[StructLayout(LayoutKind.Auto)]
internal struct AutoLatency
{
    private const double Inflated = 2;
    private const double Level = 1.3;
    private const double Cut = 0.7;
    private const double Failing = 0.2;
    private const double Drift = 0.05;

    private double _base;
    private double _baseFailing;
    private long _ticks;
    private int _waits;
    private int _failures;
    private bool _wasBad;

    /// <summary>Whether no bad sign has been seen yet.</summary>
    public bool IsRising;

    /// <summary>Counts an item that was waited for.</summary>
    public void Add(long ticks, bool failed)
    {
        _waits++;
        _ticks += ticks;
        _failures += failed ? 1 : 0;
    }

    /// <summary>Forgets the window, after the limit has moved for another reason.</summary>
    public void Restart()
    {
        _waits = 0;
        _ticks = 0;
        _failures = 0;
    }

    /// <summary>The limit that follows from the window, or the same limit while the window is not full.</summary>
    /// <param name="limit">The current limit.</param>
    /// <param name="least">The lowest limit that a bad sign may lead to.</param>
    /// <param name="most">The highest limit.</param>
    /// <param name="isBusy">Whether this process keeps all processors busy, so that longer times say nothing about what the items wait for.</param>
    /// <param name="reason">Why the limit changes.</param>
    public int Next(int limit, int least, int most, bool isBusy, out FormattableString? reason)
    {
        reason = null;
        int window = IsRising ? Math.Max(4, limit / 4) : Math.Max(16, limit);
        if (_waits < window)
        {
            return limit;
        }

        double latency = (double)_ticks / _waits;
        double failing = (double)_failures / _waits;
        if (_base == 0)
        {
            _base = latency;
            _baseFailing = failing;
        }

        _base = Math.Min(latency, _base + ((latency - _base) * Drift));
        Restart();
        FormattableString? bad = failing > Failing && failing > 2 * _baseFailing ? (FormattableString)$"{failing:P0} of the items failed"
            : latency > Inflated * _base && !isBusy ? (FormattableString)$"an item takes {new AutoTime(latency)} instead of {new AutoTime(_base)}"
            : null;

        // A single bad window may be a hiccup of the machine.
        bool isSure = bad is not null && _wasBad;
        _wasBad = bad is not null;
        int next = limit;
        if (isSure)
        {
            _wasBad = false;
            IsRising = false;
            next = Math.Max(Math.Min(limit, least), (int)(limit * Cut));
            reason = bad;
        }
        else if (bad is null && limit < most && (IsRising || latency <= Level * _base))
        {
            next = IsRising ? Math.Min(most, limit * 2) : Math.Min(most, limit + Math.Max(1, limit / 10));
            reason = $"an item takes {new AutoTime(latency)}, and {new AutoTime(_base)} at best";
        }

        return next;
    }
}
