using System.Diagnostics.Tracing;
using System.Globalization;
using System.Text;
using Weir.Observability;

namespace Weir.Core.Live;

// To a reader in another process, through the runtime's own event pipe.
//
// A listener outside can turn on an event source, and give it arguments, but it can call nothing: so snapshots are written while somebody has turned it on.
// The source is created some time after the first run, off the way of the runs (ListenerDetector): a process that nobody watches pays for one object, and a
// process that does not live that long for nothing. A reader that asks before gets its answer when the source is there, because the runtime keeps what was
// turned on.
//
// An event has at most 64 kB, so the JSON comes in parts, all with the number of their look and with how many are still to come. The pipe drops events whose
// buffer is full: a reader that misses a part waits for the next look.

/// <summary>
/// The event source <c>Weir-Live</c>: while a listener has it on, the snapshots of this process. Its argument <c>Interval</c> says how often, in seconds.
/// </summary>
[EventSource(Name = SourceName)]
internal sealed class LiveEvents : EventSource, IUnattended
{
    /// <summary>What a listener turns on.</summary>
    public const string SourceName = "Weir-Live";

    // In characters of two bytes each.
    private const int PartLength = 30_000;

    private static readonly TimeSpan Shortest = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan Usual = TimeSpan.FromSeconds(1);
    private static readonly Lazy<LiveEvents> Instance = new(static () => new LiveEvents());

    private readonly Lock _lock = new();

    // Under the lock.
    private ITimer? _timer;
    private LiveWatch? _watch;

    // Of whoever looks.
    private int _isLooking;
    private int _looks;

    private LiveEvents()
    {
    }

    /// <summary>Creates it, if it does not exist.</summary>
    public static void Create() => _ = Instance.Value;

    /// <summary>A part of a snapshot.</summary>
    /// <param name="json">The text of the part.</param>
    /// <param name="look">The number of the snapshot.</param>
    /// <param name="rest">How many parts are still to come.</param>
    [Event(1, Level = EventLevel.Informational)]
    public void Snapshot(string json, int look, int rest) => WriteEvent(1, json, look, rest);

    /// <summary>The next look is another try.</summary>
    void IUnattended.WorkFailed(Exception error)
    {
    }

    // It is called under a lock of the platform, so it reads nothing. Several listeners share the snapshots, as often as the last one wanted.
    protected override void OnEventCommand(EventCommandEventArgs command)
    {
        lock (_lock)
        {
            if (IsEnabled())
            {
                TimeSpan interval = IntervalOf(command);
                _timer?.Dispose();
                _timer = TimeProvider.System.CreateTimer(
                    static events => Unattended.Run((LiveEvents)events!, static events => events.Look()), this, TimeSpan.Zero, interval);
            }
            else
            {
                _timer?.Dispose();
                _timer = null;
                _watch?.Dispose();
                _watch = null;
            }
        }
    }

    private static TimeSpan IntervalOf(EventCommandEventArgs command) =>
        command.Arguments is { } arguments && arguments.TryGetValue("Interval", out string? text)
            && double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double seconds)
            && seconds >= Shortest.TotalSeconds && seconds <= Longest.TotalSeconds
            ? TimeSpan.FromSeconds(seconds)
            : Usual;

    private void Look()
    {
        // Of two looks at once, the parts would be mixed.
        if (Interlocked.Exchange(ref _isLooking, 1) == 1)
        {
            return;
        }

        try
        {
            Write();
        }
        finally
        {
            Volatile.Write(ref _isLooking, 0);
        }
    }

    private void Write()
    {
        // To take the first snapshot of a watch may run the text of a user's exception: not under the lock.
        LiveWatch? watch;
        lock (_lock)
        {
            watch = _watch;
        }

        LiveWatch? begun = watch is null ? WeirDiagnostics.Watch() : null;
        lock (_lock)
        {
            if (_timer is null || (begun is null && _watch != watch))
            {
                // Nobody listens any more, or somebody again whose next look begins to watch.
                begun?.Dispose();
                return;
            }

            watch = _watch ??= begun!;
        }

        string json = Encoding.UTF8.GetString(watch.Snapshot().ToJson());
        int look = ++_looks;
        int parts = (json.Length + PartLength - 1) / PartLength;
        for (int part = 0; part < parts; part++)
        {
            Snapshot(json.Substring(part * PartLength, Math.Min(PartLength, json.Length - (part * PartLength))), look, parts - 1 - part);
        }
    }
}
