using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// The adaptive limit of one run. It collects a sample of each completed call. At the end of a window, the law decides, and the controller sets the run's
/// limit.
/// </summary>
/// <remarks>
/// There is no lock: a sample takes a place in the window by one atomic increment, and the thread that takes the last place closes the window. Samples that
/// come while a window is being closed are dropped. A sample that is stored late lands in the next window, where it is as good as any other.
/// </remarks>
internal sealed class AdaptiveController
{
    // The word that places are taken from: the window's number above, then a bit for a closed window, and the place, offset so that it can start below zero.
    private const long FirstPlace = 1L << 30;
    private const long ClosedBit = 1L << 31;
    private const long PlaceMask = ClosedBit - 1;

    private readonly AdaptiveSettings _settings;
    private readonly AdaptiveLaw _law;
    private readonly AdaptiveNotifier? _notifier;
    private readonly TimeProvider _time;
    private readonly long _interval;
    private readonly Sample[] _samples;
    private readonly long[] _sorted;
    private Pump? _run;
    private int _needed;
    private long _opened;
    private long _firstStarted;
    private long _deadline = long.MaxValue;
    private int _limit;

    // Written by every completion, so kept apart from fields that are only read.
    private PaddedLong _next;

    public AdaptiveController(AdaptiveSettings settings)
    {
        _settings = settings;
        _law = new AdaptiveLaw(settings);
        _time = settings.TimeProvider;
        _interval = Math.Max(1, (long)(settings.SampleInterval.TotalSeconds * _time.TimestampFrequency));
        _samples = new Sample[_law.MaxSamples];
        _sorted = settings.TargetLatency is null ? [] : new long[_samples.Length];
        Quick = Math.Max(1, _time.TimestampFrequency / 1_000_000);
        _needed = _law.Samples;
        _limit = _law.Limit;
        _opened = _time.GetTimestamp();
        _next.Value = FirstPlace;
        _notifier = settings.OnChange is { } onChange ? new AdaptiveNotifier(onChange, _limit) : null;
    }

    /// <summary>How many calls may be in flight.</summary>
    public int Limit => Volatile.Read(ref _limit);

    /// <summary>How many windows have been decided on.</summary>
    public int Windows { get; private set; }

    public AdaptiveLaw Law => _law;

    /// <summary>The longest time of a quick call, in ticks of the clock.</summary>
    public long Quick { get; }

    /// <summary>Makes this the limit of a run. Called once, before the run starts.</summary>
    public void Attach(Pump run)
    {
        _run = run;
        _notifier?.SetContext(run.Context);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Timestamp() => _time.GetTimestamp();

    /// <summary>A call of the run has ended.</summary>
    /// <param name="started">When it started, by <see cref="Timestamp"/>.</param>
    /// <param name="succeeded">Whether it returned a result.</param>
    /// <param name="cancellationToken">
    /// The item's token. If it is cancelled, the run has stopped, or the item was given up and reported to <see cref="TimedOut"/>: there is no sample.
    /// </param>
    public void Ended(long started, bool succeeded, CancellationToken cancellationToken)
    {
        if (!cancellationToken.IsCancellationRequested)
        {
            Record(started, _time.GetTimestamp(), _run!.Live, succeeded);
        }
    }

    /// <summary>Several consecutive calls have succeeded.</summary>
    public void Ended(long started, long ended, int count, CancellationToken cancellationToken)
    {
        if (!cancellationToken.IsCancellationRequested)
        {
            Record(started, ended, _run!.Live, succeeded: true, count);
        }
    }

    /// <summary>An item of the run was given up at its time limit.</summary>
    public void TimedOut(TimeSpan timeout)
    {
        long now = _time.GetTimestamp();
        Record(now - (long)(timeout.TotalSeconds * _time.TimestampFrequency), now, _run!.Live, succeeded: false);
    }

    /// <summary>Takes the sample of a completed call.</summary>
    /// <param name="started">When it started.</param>
    /// <param name="ended">When it ended.</param>
    /// <param name="inFlight">How many calls were in flight when it ended, itself included.</param>
    /// <param name="succeeded">Whether it returned a result.</param>
    /// <param name="count">How many consecutive calls the sample represents.</param>
    public void Record(long started, long ended, int inFlight, bool succeeded, int count = 1)
    {
        long word = Interlocked.Add(ref _next.Value, count);
        if ((word & ClosedBit) != 0)
        {
            return;
        }

        long place = (word & PlaceMask) - FirstPlace - count;
        if (place < 0)
        {
            if (place + count >= 0)
            {
                Volatile.Write(ref _opened, ended);
            }

            return;
        }

        int needed = Volatile.Read(ref _needed);
        if (place >= needed)
        {
            return;
        }

        ref Sample sample = ref _samples[place];
        sample.Ended = ended;
        sample.InFlight = inFlight;
        sample.Count = count;
        Volatile.Write(ref sample.Latency, succeeded ? Math.Max(1, (ended - started) / count) : -1);
        if (place == 0)
        {
            _firstStarted = started;
            Volatile.Write(ref _deadline, ended + _interval);
        }

        if (place + count >= needed || ended >= Volatile.Read(ref _deadline))
        {
            Close(word >> 32, ended);
        }
    }

    private void Close(long number, long now)
    {
        long word = Volatile.Read(ref _next.Value);
        while (true)
        {
            if (word >> 32 != number || (word & ClosedBit) != 0)
            {
                // Another thread closed it.
                return;
            }

            long seen = Interlocked.CompareExchange(ref _next.Value, word | ClosedBit, word);
            if (seen == word)
            {
                break;
            }

            word = seen;
        }

        int places = (int)Math.Min((word & PlaceMask) - FirstPlace, _needed);
        AdaptiveWindow window = Summarize(places, now);
        _law.Decide(window);
        Windows++;
        int limit = _law.Limit;
        if (limit != _limit)
        {
            Volatile.Write(ref _limit, limit);
            _run?.SetLimit(limit);
            _notifier?.Changed(limit);
        }

        _opened = now;
        Volatile.Write(ref _needed, _law.Samples);
        Volatile.Write(ref _deadline, long.MaxValue);
        Volatile.Write(ref _next.Value, ((number + 1) << 32) | (FirstPlace - Math.Min(_law.Skip, FirstPlace)));
    }

    private AdaptiveWindow Summarize(int places, long now)
    {
        double clip = _law.Clip;
        int count = 0;
        int succeeded = 0;
        int measured = 0;
        long longest = 1;
        double inFlight = 0;
        WindowMean mean = default;
        foreach (ref Sample sample in _samples.AsSpan(0, places))
        {
            long latency = Volatile.Read(ref sample.Latency);
            sample.Latency = 0;
            if (latency == 0)
            {
                // Its writer has taken the place but not stored anything yet.
                continue;
            }

            count += sample.Count;
            inFlight += (double)sample.InFlight * sample.Count;
            if (latency > 0)
            {
                if (_sorted.Length > 0)
                {
                    // A sample of several calls takes one place here: their mean either met the target or did not.
                    _sorted[measured] = latency;
                }

                measured++;
                succeeded += sample.Count;
                longest = Math.Max(longest, latency);
                mean.Add(Math.Min(latency, clip), sample.Count, sample.Ended);
            }
        }

        // Time with nothing in flight is not latency. So count no time before the first call, and no more than the longest call took.
        double turnover = count == 0 ? 0 : Math.Min(longest, (now - Math.Max(_opened, _firstStarted)) * (inFlight / count) / count);
        return new AdaptiveWindow
        {
            Count = count,
            SuccessRate = count == 0 ? 1 : (double)succeeded / count,
            InFlight = count == 0 ? 0 : inFlight / count,
            Latency = mean.Value,
            Error = mean.Error(out int moments),
            Moments = moments,
            Turnover = Math.Max(1, turnover),
            Percentile = _sorted.Length == 0 ? 0 : PercentileOf(measured),
        };
    }

    private double PercentileOf(int count)
    {
        if (count == 0)
        {
            return 0;
        }

        Span<long> values = _sorted.AsSpan(0, count);
        values.Sort();
        return values[Math.Clamp((int)Math.Ceiling(_settings.TargetPercentile * count) - 1, 0, count - 1)];
    }

    private struct Sample
    {
        /// <summary>In ticks; -1 for a failure, 0 if nothing is stored yet.</summary>
        public long Latency;
        public long Ended;
        public int InFlight;

        /// <summary>How many calls it represents.</summary>
        public int Count;
    }

    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct PaddedLong
    {
        [FieldOffset(64)]
        public long Value;
    }
}
