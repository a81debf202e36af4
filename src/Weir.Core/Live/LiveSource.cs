using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Observability;

namespace Weir.Core.Live;

/// <summary>A reader of what is live of some kinds. There is one for each list that an assembly keeps anyway.</summary>
/// <remarks>Readers run no user code, apart from the properties of a user's own exception or clock, whose failures leave a value out.</remarks>
internal abstract class LiveSource
{
    private static readonly Lock Lock = new();

    // Replaced under the lock, and read without it.
    private static volatile LiveSource[] _all = [];

    // A guess, so it needs no lock.
    private static int _seen;

    /// <summary>From now on, snapshots have what this one reads. Called once for each list, with its first object.</summary>
    public static void Add(LiveSource source)
    {
        lock (Lock)
        {
            _all = [.. _all, source];
        }
    }

    /// <summary>Takes a snapshot.</summary>
    /// <param name="time">The clock that says when it was taken.</param>
    /// <param name="watch">Sets the rates of entries, with what only a watch knows; null for none.</param>
    public static WeirSnapshot Snapshot(TimeProvider time, Action<List<LiveEntry>, DateTimeOffset>? watch)
    {
        // As many as there were last time, or a look would copy the list again and again.
        LiveReading reading = new(time, _seen);
        foreach (LiveSource source in _all)
        {
            source.Read(reading);
        }

        _seen = reading.Entries.Count;
        reading.Entries.Sort(static (a, b) => a.Kind != b.Kind ? (int)a.Kind - (int)b.Kind : LiveIds.NumberOf(a.Id).CompareTo(LiveIds.NumberOf(b.Id)));
        if (watch is not null)
        {
            watch(reading.Entries, reading.Now);
        }
        else
        {
            reading.Entries.ForEach(entry => SetRates(entry, reading.Now, null, null));
        }

        return new WeirSnapshot
        {
            Time = reading.Now,
            ProcessId = Environment.ProcessId,
            ProcessName = AppDomain.CurrentDomain.FriendlyName,
            IsWatched = watch is not null,
            Entries = reading.Entries,
        };
    }

    /// <summary>The object behind an entry, as a type; null if it is not live or is none.</summary>
    public static object? Find(string id, Type type)
    {
        foreach (LiveSource source in _all)
        {
            foreach (object target in source.Targets())
            {
                if (LiveIds.Known(target) == id)
                {
                    return source.Sides(target).FirstOrDefault(type.IsInstanceOfType);
                }
            }
        }

        return null;
    }

    /// <summary>Asks each run and block what its workers do at this moment.</summary>
    public static void SampleAll(Action<string, StageSample> add)
    {
        foreach (LiveSource source in _all)
        {
            source.Sample(add);
        }
    }

    /// <summary>Adds to an entry its rate since its start, what a watch knows, and the end that follows.</summary>
    public static void SetRates(LiveEntry entry, DateTimeOffset now, double? rate1s, double? rate1m)
    {
        double? rate = entry is { Done: not null, Since: { } since } && now > since ? entry.Ended / (now - since).TotalSeconds : null;
        DateTimeOffset? end = null;
        if (entry.Total is { } total && (rate1m ?? rate) is { } known and > 0)
        {
            double seconds = Math.Max(0, total - entry.Ended) / known;
            end = seconds < (DateTimeOffset.MaxValue - now).TotalSeconds - 1 ? now.AddSeconds(seconds) : null;
        }

        entry.SetRates(rate, rate1s, rate1m, end);
    }

    /// <summary>Says what the workers of each thing do at this moment, by its id.</summary>
    public virtual void Sample(Action<string, StageSample> add)
    {
    }

    /// <summary>Adds an entry for each live thing.</summary>
    public abstract void Read(LiveReading reading);

    /// <summary>What has ids of this source.</summary>
    protected abstract IEnumerable<object> Targets();

    /// <summary>What can be found for something that has an id.</summary>
    protected virtual IEnumerable<object?> Sides(object target) => [target];
}

/// <summary>What readers add to, and the time at which they read.</summary>
internal sealed class LiveReading(TimeProvider time, int expected)
{
    /// <summary>Now.</summary>
    public DateTimeOffset Now { get; } = time.GetUtcNow();

    /// <summary>What is live.</summary>
    public List<LiveEntry> Entries { get; } = new(expected);

    /// <summary>When something was, that is known as a timestamp of a clock, which may be the user's; null if that fails.</summary>
    public DateTimeOffset? At(TimeProvider clock, long timestamp)
    {
        try
        {
            return Now - clock.GetElapsedTime(timestamp);
        }
        catch (Exception)
        {
            return null;
        }
    }
}

/// <summary>The ids of what was looked at. They hold nothing in memory, and nothing that nobody looked at has one.</summary>
internal static class LiveIds
{
    private static readonly ConditionalWeakTable<object, string> Ids = [];
    private static long _last;

    /// <summary>The id of something, which it has from now on.</summary>
    public static string Of(LiveKind kind, object target) => Ids.TryGetValue(target, out string? id) ? id : New(kind, target);

    /// <summary>The id of something; null if it has none yet.</summary>
    public static string? Known(object target) => Ids.TryGetValue(target, out string? id) ? id : null;

    /// <summary>The number in an id.</summary>
    public static long NumberOf(string id) => long.Parse(id.AsSpan(id.LastIndexOf('-') + 1), System.Globalization.CultureInfo.InvariantCulture);

    // Separate, because its closure is made at its beginning.
    private static string New(LiveKind kind, object target) => Ids.GetValue(target, _ => $"{PrefixOf(kind)}-{Interlocked.Increment(ref _last)}");

    private static string PrefixOf(LiveKind kind) => kind switch
    {
        LiveKind.Run => "run",
        LiveKind.Runtime => "runtime",
        LiveKind.Limit => "limit",
        LiveKind.RateLimit => "rate-limit",
        LiveKind.Breaker => "breaker",
        LiveKind.RetryBudget => "retry-budget",
        LiveKind.Network => "network",
        LiveKind.Block => "block",
        LiveKind.Host => "host",
        _ => "queue",
    };
}

/// <summary>Things that are live until nobody has them any more. Weak: to be listed keeps none of them in memory. Thread-safe.</summary>
/// <param name="reader">What reads the list for snapshots.</param>
internal sealed class WeakList<T>(Func<WeakList<T>, LiveSource> reader)
    where T : class
{
    private const int Few = 64;

    private readonly Lock _lock = new();
    private readonly List<(WeakReference<T> Item, long Since)> _known = [];
    private int _sweepAt = Few;
    private bool _isRead;

    /// <summary>Adds something that was made just now.</summary>
    public void Add(T item)
    {
        (WeakReference<T>, long) entry = (new(item), TimeProvider.System.GetTimestamp());
        bool isFirst;
        lock (_lock)
        {
            if (_known.Count >= _sweepAt)
            {
                _known.RemoveAll(static known => !known.Item.TryGetTarget(out _));
                _sweepAt = Math.Max(Few, 2 * _known.Count);
            }

            _known.Add(entry);
            isFirst = !_isRead;
            _isRead = true;
        }

        if (isFirst)
        {
            LiveSource.Add(reader(this));
        }
    }

    /// <summary>Those that are still there, with the system's timestamp of their creation. They are read without the lock, because they have locks of their own.</summary>
    public List<(T Item, long Since)> Alive()
    {
        List<(T, long)> alive;
        lock (_lock)
        {
            alive = new(_known.Count);
            foreach ((WeakReference<T> known, long since) in _known)
            {
                if (known.TryGetTarget(out T? item))
                {
                    alive.Add((item, since));
                }
            }
        }

        return alive;
    }
}
