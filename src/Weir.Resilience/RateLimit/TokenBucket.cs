using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>A token bucket that gives each caller its own start time: first come, first served, and exact at any timer tick.</summary>
/// <remarks>
/// <para>
/// It is the generic cell rate algorithm (ITU-T I.371). The whole state is one mark m, the moment at which all tokens given so far have
/// flowed in. A reservation at the time t starts at s = max(t, m - (burst - cost) / rate), and moves the mark to max(t, m) + cost / rate.
/// So no stretch of time holds more starts than rate * time + burst allows, nothing is ever polled, and a caller that wakes late does not make the next one late.
/// </para>
/// <para>
/// All members are safe for any number of threads. A reservation is one reading of the clock and one compare-and-swap, without a lock or an allocation. From a million
/// operations a second on, calls of a run that find the bucket at least half full read the clock once for up to 1,024 of them, or a sixty-fourth of the burst. They are reckoned as made together at the next
/// reading: the rate is kept as strictly, but what has flowed in between, a millisecond's worth at the most, is lost.
/// One instance can be shared by calls, chains and runs.
/// </para>
/// </remarks>
[DebuggerDisplay("{_rate} tokens a second, {_cost} seconds an operation")]
public sealed class TokenBucket : IRateGate
{
    // A timer that wakes late does so by a tick and some scheduling. A machine that slept is not made up for.
    private const double LongestLateness = 0.1;

    // For how many times its length the lateness of a timer can be made up for.
    private const double LatenessLife = 10;

    // Where an operation has less time than this, a look at the clock for each of them would be most of it.
    private const double QuickCost = 1e-6;
    private const double QuickShare = 1 / 64.0;
    private const int FewestQuick = 64;
    private const int MostQuick = 1024;

    private readonly Clock _clock;
    private readonly Lock _quickLock = new();
    private readonly QuickTokens? _quick;
    private readonly long _origin;
    private readonly double _rate;
    private readonly double _cost;
    private readonly double _tolerance;
    private readonly Lock _cancelLock = new();
    private readonly Dictionary<double, double> _cancelled = [];
    private int _purgeAt = 64;

    // In seconds since the origin, as a double: the rounding of one reservation is below a millionth of a millisecond for a year,
    // where whole ticks of 100 ns would be wrong by a tenth at three million a second.
    private double _mark;
    private double _lateness;
    private double _latenessEnds;

    /// <summary>Makes a full bucket.</summary>
    /// <param name="options">The rate and the burst; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of its range; the parameter is named after the property.</exception>
    public TokenBucket(RateLimitOptions? options = null)
    {
        options ??= new RateLimitOptions();
        options.Validate();
        _clock = new Clock(options.TimeProvider);
        _origin = _clock.Now;
        _rate = options.TokensPerSecond;
        _cost = options.TokensPerOperation / options.TokensPerSecond;
        _tolerance = (options.BurstCapacity - options.TokensPerOperation) / options.TokensPerSecond;
        double quick = Math.Min(MostQuick, QuickShare * _tolerance / _cost);
        _quick = _cost <= QuickCost && quick >= FewestQuick ? new QuickTokens((int)quick) : null;
    }

    /// <summary>Sets the next free start time aside for the caller, who waits for it by himself, wherever he likes.</summary>
    /// <returns>How long to wait, and what <see cref="Cancel"/> and <see cref="Started"/> want back.</returns>
    /// <remarks>The tokens are spent, also when the call is never made; see <see cref="Cancel"/>.</remarks>
    public RateReservation Reserve()
    {
        if (_quick is null)
        {
            return ReserveExactly();
        }

        using (_quickLock.EnterScope())
        {
            SettleNeedsLock();
            return ReserveExactly();
        }
    }

    private RateReservation ReserveExactly()
    {
        double now = Seconds(_clock.Now);

        // What a late timer has stolen is given back by reckoning from the time at which the call should have started.
        double from = now < Volatile.Read(ref _latenessEnds) ? now - Volatile.Read(ref _lateness) : now;
        double mark = Volatile.Read(ref _mark);
        while (true)
        {
            double basis = Math.Max(mark, from);

            // A mark that does not move would let in any number of calls; it stands still when a cost is below the resolution.
            double after = Math.Max(basis + _cost, Math.BitIncrement(mark));
            double seen = Interlocked.CompareExchange(ref _mark, after, mark);
            if (seen.Equals(mark))
            {
                double start = Math.Max(from, mark - _tolerance);
                return new RateReservation(ToDelay(start - now), start, mark, after);
            }

            mark = seen;
        }
    }

    /// <summary>Takes the tokens of a call that may start at once; nothing when it would have to wait.</summary>
    /// <remarks>The same as <see cref="Reserve"/> without a delay, for calls that mostly need not wait.</remarks>
    internal bool TryEnter() => _quick is null ? TryEnterExactly() : _quick.TryTake() || TryEnterAndOpen();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryEnterAndOpen()
    {
        using (_quickLock.EnterScope())
        {
            SettleNeedsLock();
            if (!TryEnterExactly())
            {
                return false;
            }

            // At least half full, and nothing to make up for.
            double now = Seconds(_clock.Now);
            if (Volatile.Read(ref _mark) - now <= _tolerance / 2 && now >= Volatile.Read(ref _latenessEnds))
            {
                _quick!.OpenNeedsLock();
            }

            return true;
        }
    }

    /// <summary>Takes what was taken without a look at the clock, now.</summary>
    private void SettleNeedsLock()
    {
        int taken = _quick!.CloseNeedsLock();
        if (taken == 0)
        {
            return;
        }

        double now = Seconds(_clock.Now);
        double mark = Volatile.Read(ref _mark);
        while (true)
        {
            double seen = Interlocked.CompareExchange(ref _mark, Math.Max(mark, now) + (taken * _cost), mark);
            if (seen.Equals(mark))
            {
                return;
            }

            // A reservation was cancelled meanwhile.
            mark = seen;
        }
    }

    private bool TryEnterExactly()
    {
        double now = Seconds(_clock.Now);
        double from = now < Volatile.Read(ref _latenessEnds) ? now - Volatile.Read(ref _lateness) : now;
        double mark = Volatile.Read(ref _mark);
        if (mark - _tolerance > now)
        {
            return false;
        }

        double after = (mark > from ? mark : from) + _cost;
        if (after <= mark)
        {
            // See Reserve.
            after = Math.BitIncrement(mark);
        }

        return Interlocked.CompareExchange(ref _mark, after, mark).Equals(mark);
    }

    /// <summary>Gives the tokens of a call back that was not made.</summary>
    /// <param name="reservation">What <see cref="Reserve"/> returned.</param>
    /// <remarks>
    /// They are free again once no reservation made later stands before them: calls that already wait keep their start times, so that the
    /// rate is kept and nobody is overtaken. When a whole run is cancelled, in whatever order, all its time is free again. Call it at most once a reservation.
    /// </remarks>
    public void Cancel(RateReservation reservation)
    {
        if (reservation.After.Equals(0d))
        {
            return;
        }

        lock (_cancelLock)
        {
            _cancelled[reservation.After] = reservation.Before;

            // Only the last reservation can be taken back; that may make another cancelled one the last.
            double mark = Volatile.Read(ref _mark);
            while (_cancelled.TryGetValue(mark, out double before) && Interlocked.CompareExchange(ref _mark, before, mark).Equals(mark))
            {
                _cancelled.Remove(mark);
                mark = before;
            }

            if (_cancelled.Count >= _purgeAt)
            {
                Purge_NeedsLock();
            }
        }
    }

    /// <summary>
    /// Says that a call that had to wait starts now, so that the next ones can make up for a timer that woke late: without it a
    /// caller who makes one call after the other gets one call a timer tick instead of the rate.
    /// </summary>
    /// <param name="reservation">What <see cref="Reserve"/> returned.</param>
    /// <remarks>
    /// At most 100 ms of lateness are made up for, within ten times its length. <see cref="WaitAsync"/> says so by itself.
    /// </remarks>
    public void Started(RateReservation reservation)
    {
        if (reservation.Delay == TimeSpan.Zero)
        {
            return;
        }

        // Two writes that belong together, without a lock: whichever pair a reader sees, it stays within the bounds that matter,
        // as a start time is never before the bucket's mark allows.
        double now = Seconds(_clock.Now);
        double lateness = Math.Clamp(now - reservation.Start, 0, LongestLateness);
        Volatile.Write(ref _lateness, lateness);
        Volatile.Write(ref _latenessEnds, now + (lateness * LatenessLife));
    }

    /// <summary>Waits until the caller may make one call.</summary>
    /// <param name="cancellationToken">Ends the waiting, and gives the tokens back.</param>
    /// <returns>A task that has already ended, without an allocation, when there is nothing to wait for.</returns>
    /// <remarks>Start times are given in the order of the calls of this method. Callers whose times fall into one tick of the timer wake together.</remarks>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask WaitAsync(CancellationToken cancellationToken = default)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled(cancellationToken);
        }

        RateReservation reservation = Reserve();
        return reservation.Delay == TimeSpan.Zero ? ValueTask.CompletedTask : new ValueTask(WaitForAsync(reservation, cancellationToken));
    }

    ValueTask<IDisposable?> IRateGate.EnterAsync(CancellationToken cancellationToken)
    {
        ValueTask wait = WaitAsync(cancellationToken);
        return wait.IsCompletedSuccessfully ? default : Wrap(wait);

        static async ValueTask<IDisposable?> Wrap(ValueTask wait)
        {
            await wait.ConfigureAwait(false);
            return null;
        }
    }

    private async Task WaitForAsync(RateReservation reservation, CancellationToken cancellationToken)
    {
        try
        {
            await TimerDelay.WaitUntilAsync(_origin + ToTicks(reservation.Start), _clock, cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            Cancel(reservation);
            throw;
        }

        Started(reservation);
    }

    // Reservations whose time is long over make no difference any more, cancelled or not.
    private void Purge_NeedsLock()
    {
        double over = Seconds(_clock.Now) - _tolerance - LongestLateness;
        foreach (double after in _cancelled.Keys)
        {
            if (after < over)
            {
                _cancelled.Remove(after);
            }
        }

        _purgeAt = Math.Max(64, 2 * _cancelled.Count);
    }

    private double Seconds(long timestamp) => _clock.ToSeconds(timestamp - _origin);

    // Here and below: the thousandth of a tick keeps the rounding of the double from adding a whole one.
    private long ToTicks(double seconds) => (long)Math.Min(Math.Ceiling((seconds / _clock.ToSeconds(1)) - 0.001), long.MaxValue / 2);

    private static TimeSpan ToDelay(double seconds) => seconds <= 0
        ? TimeSpan.Zero
        : new TimeSpan((long)Math.Min(Math.Ceiling((seconds * TimeSpan.TicksPerSecond) - 0.001), long.MaxValue / 2));
}
