using Weir.Core.Live;

namespace Weir.Observability;

// How often it looks:
//
// At an interval, from its creation to its disposal. With an idle interval, it is idle at first, and whenever nobody has asked for as long as that: then it
// looks at that interval and takes no samples, because nobody sees the time of stages. Whoever asks wakes it. Both change under the lock, so that a look that
// falls asleep cannot slow down a watch that was just asked.

/// <summary>
/// Looks at all that is live some times a second, so that rates, an hour of history and the time of stages are known. Nothing of it goes on once it is disposed.
/// </summary>
/// <remarks>Thread-safe. Its memory is bounded by its options.</remarks>
public sealed class LiveWatch : IDisposable
{
    // At the shortest interval, for a minute.
    private const int MostLooks = 601;

    private readonly Lock _lock = new();
    private readonly LiveWatchOptions _options;
    private readonly ITimer _timer;
    private readonly ITimer _samples;

    // Atomic.
    private WeirSnapshot _latest;

    // Under the lock.
    private readonly Dictionary<string, Track> _tracks = new(StringComparer.Ordinal);
    private long _looks;
    private bool _isIdle;
    private long _askedAt;
    private bool _isDisposed;
    private long _contentions;
    private double _contentionRate;
    private DateTimeOffset _countedAt;

    // Atomic: 1 while a thread takes samples.
    private int _isSampling;

    // Of that thread: samples are taken a fiftieth of the time at most.
    private long _notBefore;

    internal LiveWatch(LiveWatchOptions options)
    {
        _options = options;
        _isIdle = options.IdleInterval is not null;
        _latest = LiveSource.Snapshot(options.TimeProvider, Note);
        _samples = Every(SampleInterval, static watch => watch.Sample());
        _timer = Every(Interval, static watch => watch.Look());
    }

    /// <summary>What the last look saw. It costs nothing to ask.</summary>
    public WeirSnapshot Latest
    {
        get
        {
            Wake();
            return Volatile.Read(ref _latest);
        }
    }

    private TimeSpan Interval => _isIdle ? _options.IdleInterval!.Value : _options.Interval;

    private TimeSpan SampleInterval => _isIdle ? Timeout.InfiniteTimeSpan : _options.SampleInterval;

    /// <summary>What is live now, with the rates that the looks so far have found.</summary>
    /// <returns>A copy.</returns>
    public WeirSnapshot Snapshot()
    {
        Wake();
        return LiveSource.Snapshot(_options.TimeProvider, Rated);
    }

    /// <summary>What was at earlier times, of one entry.</summary>
    /// <param name="id">The <see cref="LiveEntry.Id"/>.</param>
    /// <returns>The points from the oldest to the newest; empty if the entry is not live or <see cref="LiveWatchOptions.History"/> is zero.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="id"/> is <see langword="null"/>.</exception>
    public LiveHistory History(string id)
    {
        ArgumentNullException.ThrowIfNull(id);
        lock (_lock)
        {
            return new LiveHistory { Id = id, Points = _tracks.TryGetValue(id, out Track? track) ? track.Points() : [] };
        }
    }

    /// <summary>Ends the looks.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            _isDisposed = true;
            _tracks.Clear();
        }

        _timer.Dispose();
        _samples.Dispose();
    }

    private void Wake()
    {
        if (_options.IdleInterval is null)
        {
            return;
        }

        long now = _options.TimeProvider.GetTimestamp();
        lock (_lock)
        {
            _askedAt = now;
            SetIdleNeedsLock(false);
        }
    }

    private void SetIdleNeedsLock(bool isIdle)
    {
        if (_isIdle == isIdle || _isDisposed)
        {
            return;
        }

        _isIdle = isIdle;
        _timer.Change(Interval, Interval);
        _samples.Change(SampleInterval, SampleInterval);
        if (isIdle)
        {
            // Whoever asks next does not want the shares of time of long ago.
            foreach (Track track in _tracks.Values)
            {
                track.Shares = new StageShares();
            }
        }
    }

    private ITimer Every(TimeSpan interval, Action<LiveWatch> look) => _options.TimeProvider.CreateTimer(
        static state =>
        {
            (LiveWatch watch, Action<LiveWatch> look) = ((LiveWatch, Action<LiveWatch>))state!;
            try
            {
                look(watch);
            }
            catch (Exception)
            {
                // A look that failed, for want of memory say, is left out: the next comes soon.
            }
        },
        (this, look),
        interval,
        interval);

    private void Sample()
    {
        TimeProvider time = TimeProvider.System;
        if (Interlocked.Exchange(ref _isSampling, 1) != 0)
        {
            return;
        }

        try
        {
            long began = time.GetTimestamp();
            if (began < _notBefore)
            {
                return;
            }

            DateTimeOffset now = _options.TimeProvider.GetUtcNow();
            LiveSource.SampleAll((id, sample) =>
            {
                lock (_lock)
                {
                    if (_tracks.TryGetValue(id, out Track? track))
                    {
                        track.Shares.Add(sample, now);
                    }
                }
            });
            long took = time.GetTimestamp() - began;
            _notBefore = _options.SamplesAlways || took < time.TimestampFrequency / 500 ? 0 : began + (50 * took);
        }
        finally
        {
            Volatile.Write(ref _isSampling, 0);
        }
    }

    private void Look()
    {
        long now = _options.TimeProvider.GetTimestamp();
        lock (_lock)
        {
            if (_isDisposed)
            {
                return;
            }

            _looks++;
            if (_options.IdleInterval is { } idle && _options.TimeProvider.GetElapsedTime(_askedAt, now) >= idle)
            {
                SetIdleNeedsLock(true);
            }
        }

        Volatile.Write(ref _latest, LiveSource.Snapshot(_options.TimeProvider, Note));
        lock (_lock)
        {
            List<string> gone = [.. _tracks.Where(track => track.Value.SeenAt < _looks).Select(static track => track.Key)];
            gone.ForEach(id => _tracks.Remove(id));
        }
    }

    private void Note(List<LiveEntry> entries, DateTimeOffset now)
    {
        lock (_lock)
        {
            CountContentionsNeedsLock(now);
            for (int i = 0; i < entries.Count && !_isDisposed; i++)
            {
                if (!_tracks.TryGetValue(entries[i].Id, out Track? track))
                {
                    if (_tracks.Count >= _options.MaxEntries)
                    {
                        LiveSource.SetRates(entries[i], now, null, null);
                        continue;
                    }

                    _tracks[entries[i].Id] = track = new Track(_options);
                }

                track.SeenAt = _looks;
                track.Note(entries[i], now);
            }

            NameBottlenecksNeedsLock(entries);
        }
    }

    private void Rated(List<LiveEntry> entries, DateTimeOffset now)
    {
        lock (_lock)
        {
            foreach (LiveEntry entry in entries)
            {
                if (_tracks.TryGetValue(entry.Id, out Track? track))
                {
                    track.SetRates(entry, now);
                }
                else
                {
                    LiveSource.SetRates(entry, now, null, null);
                }
            }

            NameBottlenecksNeedsLock(entries);
        }
    }

    private void CountContentionsNeedsLock(DateTimeOffset now)
    {
        long contentions = Monitor.LockContentionCount;
        if (now > _countedAt)
        {
            _contentionRate = _countedAt == default ? 0 : (contentions - _contentions) / (now - _countedAt).TotalSeconds;
            (_contentions, _countedAt) = (contentions, now);
        }
    }

    private void NameBottlenecksNeedsLock(List<LiveEntry> entries)
    {
        ILookup<string?, LiveEntry> blocks = entries.Where(static entry => entry.Kind == LiveKind.Block).ToLookup(static entry => entry.Parent);
        foreach (LiveEntry entry in entries)
        {
            if (entry.Kind == LiveKind.Run && _tracks.TryGetValue(entry.Id, out Track? track) && track.Shares.IsKnown)
            {
                Bottlenecks.OfRun(entry, track.Shares);
            }
            else if (entry.Kind == LiveKind.Network)
            {
                Bottlenecks.OfNetwork(
                    entry, [.. blocks[entry.Id].Select(block => (block, _tracks.GetValueOrDefault(block.Id)?.Shares))], _contentionRate);
            }
        }
    }

    /// <summary>What is remembered of one entry.</summary>
    private sealed class Track(LiveWatchOptions options)
    {
        // For a minute, with what lies before its first.
        private readonly Ring<(DateTimeOffset Time, long Ended)> _looks = new(
            Math.Clamp((int)Math.Ceiling(TimeSpan.FromMinutes(1) / options.Interval) + 1, 2, MostLooks));

        private Ring<LivePoint>? _history;

        // Of the history, until there is a new point.
        private LivePoint[]? _points;

        // Timers are late by some milliseconds, and never by the same.
        private TimeSpan Tolerance => options.Interval / 4;

        /// <summary>What its workers do.</summary>
        public StageShares Shares { get; set; } = new();

        /// <summary>The look that has seen it last.</summary>
        public long SeenAt { get; set; }

        public void Note(LiveEntry entry, DateTimeOffset now)
        {
            SetRates(entry, now);
            _looks.Add((now, entry.Ended));
            if (options.History > TimeSpan.Zero)
            {
                _history ??= new((int)Math.Ceiling(options.History / options.HistoryStep));
                if (_history.Count == 0 || now - _history[^1].Time >= options.HistoryStep - Tolerance)
                {
                    _points = null;
                    _history.Add(new LivePoint
                    {
                        Time = now, State = entry.State, Rate = entry.Rate1s, Limit = entry.Limit, InFlight = entry.InFlight,
                        Waiting = entry.Queue?.Backlog ?? entry.Waiting, Failed = entry.Failed, Opened = entry.Opened,
                    });
                }
            }
        }

        public void SetRates(LiveEntry entry, DateTimeOffset now) => LiveSource.SetRates(
            entry,
            now,
            entry.Done is null ? null : RateOver(TimeSpan.FromSeconds(1), entry, now),
            entry.Done is null ? null : RateOver(TimeSpan.FromMinutes(1), entry, now));

        public IReadOnlyList<LivePoint> Points() => _history is null ? [] : _points ??= _history.ToArray();

        /// <summary>The rate since the newest sample that is as old as a span, or else the oldest.</summary>
        private double? RateOver(TimeSpan span, LiveEntry entry, DateTimeOffset now)
        {
            int i = _looks.Count - 1;
            while (i > 0 && now - _looks[i].Time < span - Tolerance)
            {
                i--;
            }

            (DateTimeOffset Time, long Ended)? from = i < 0 ? null : _looks[i];
            return from is { } start && now > start.Time ? Math.Max(0, entry.Ended - start.Ended) / (now - start.Time).TotalSeconds : null;
        }
    }

    /// <summary>The newest of some values.</summary>
    private sealed class Ring<T>(int capacity)
    {
        // It grows as it fills: most of what is live does not live for long.
        private readonly List<T> _items = [];
        private int _first;

        public int Count => _items.Count;

        public T this[Index age] => this[age.GetOffset(_items.Count)];

        public T this[int i] => _items[(_first + i) % _items.Count];

        public void Add(T item)
        {
            if (_items.Count < capacity)
            {
                _items.Add(item);
            }
            else
            {
                _items[_first] = item;
                _first = (_first + 1) % capacity;
            }
        }

        public T[] ToArray() => [.. _items[_first..], .. _items[.._first]];
    }
}

/// <summary>The options of <see cref="WeirDiagnostics.Watch"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record LiveWatchOptions
{
    /// <summary>How long after one look the next begins.</summary>
    /// <value>From 100 milliseconds to 1 minute. The default is 500 milliseconds.</value>
    public TimeSpan Interval { get; init; } = TimeSpan.FromMilliseconds(500);

    /// <summary>
    /// How long after one look the next begins while nobody asks: once <see cref="LiveWatch.Latest"/> and <see cref="LiveWatch.Snapshot"/> were not asked for as
    /// long, and at first. Then no samples are taken. For a watch that keeps a history all the time and is looked at now and then.
    /// </summary>
    /// <value>
    /// From <see cref="Interval"/> to 1 minute; <see langword="null"/>, the default, for <see cref="Interval"/>. When somebody asks again, the rate of the last
    /// second is since the last look, for a second, and the time of stages is not known yet.
    /// </value>
    public TimeSpan? IdleInterval { get; init; }

    /// <summary>How long after one sample of what workers do the next is taken. Samples take at most a fiftieth of a processor's time.</summary>
    /// <value>From 50 milliseconds to 1 minute. The default is 100 milliseconds.</value>
    public TimeSpan SampleInterval { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>How much of the past is remembered for <see cref="LiveWatch.History"/>.</summary>
    /// <value>Zero, the default, for nothing, to 1 day.</value>
    public TimeSpan History { get; init; }

    /// <summary>The time from one point of the history to the next.</summary>
    /// <value>From 1 second to 1 hour. The default is 10 seconds: 360 points an hour.</value>
    public TimeSpan HistoryStep { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Of how many entries rates and history are remembered at most. Further ones have neither.</summary>
    /// <value>From 1 to 100,000. The default is 2,000. An entry takes about 3 kB, and 30 kB with an hour of history.</value>
    public int MaxEntries { get; init; } = 2000;

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether samples are taken whatever they cost: for tests whose time is not the system's.</summary>
    internal bool SamplesAlways { get; init; }

    internal void Validate()
    {
        Check(Interval >= TimeSpan.FromMilliseconds(100) && Interval <= TimeSpan.FromMinutes(1), nameof(Interval), Interval, "from 100 milliseconds to 1 minute");
        Check(IdleInterval is not { } idle || (idle >= Interval && idle <= TimeSpan.FromMinutes(1)), nameof(IdleInterval), IdleInterval,
            "from Interval to 1 minute");
        Check(SampleInterval >= TimeSpan.FromMilliseconds(50) && SampleInterval <= TimeSpan.FromMinutes(1), nameof(SampleInterval), SampleInterval,
            "from 50 milliseconds to 1 minute");
        Check(History >= TimeSpan.Zero && History <= TimeSpan.FromDays(1), nameof(History), History, "from zero to 1 day");
        Check(HistoryStep >= TimeSpan.FromSeconds(1) && HistoryStep <= TimeSpan.FromHours(1), nameof(HistoryStep), HistoryStep, "from 1 second to 1 hour");
        Check(MaxEntries is >= 1 and <= 100_000, nameof(MaxEntries), MaxEntries, "from 1 to 100,000");
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }

    private static void Check(bool isInRange, string name, object? value, string range)
    {
        if (!isInRange)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range}.");
        }
    }
}
