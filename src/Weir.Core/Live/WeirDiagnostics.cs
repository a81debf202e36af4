using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Live;

namespace Weir.Observability;

// From an object to whoever looks.
//
// Each assembly keeps a list of what is live in it, for its meter: runs, policies, blocks, hosts, gauges. With its first object it adds a reader of that list
// here (LiveSource), and that is all that happens while nobody looks. A snapshot asks each reader, which reads the counts that its objects keep anyway. So no
// assembly is loaded, and no object is listed twice, for those that look.
//
// Ids are given to what was looked at, and to nothing else (LiveIds). They hold nothing in memory, and neither does a snapshot: it has copies.
//
// Only a watch knows rates and the shares of busy, idle and blocked time, because these need samples in time: see LiveWatch.

/// <summary>
/// What is live in this process, for all that shows it; and the names that the library uses for OpenTelemetry and other listeners. See
/// docs/reference/diagnostics.md and docs/reference/observability.md.
/// </summary>
public static class WeirDiagnostics
{
    /// <summary>The name of the <see cref="System.Diagnostics.Metrics.Meter"/>, for <c>AddMeter</c>.</summary>
    public const string MeterName = "Weir";

    /// <summary>The name of the <see cref="System.Diagnostics.ActivitySource"/>, for <c>AddSource</c>.</summary>
    public const string ActivitySourceName = "Weir";

    private static bool _controlsRuns;

    internal static string? Version { get; } = typeof(WeirDiagnostics).Assembly.GetName().Version?.ToString(3);

    /// <summary>
    /// Whether runs that start from now on have a <see cref="RunControl"/> of their own if their options give them none, so that whoever looks can pause, limit
    /// and stop them.
    /// </summary>
    /// <value>The default is <see langword="false"/>. With a control, each item begins under a lock: see docs/reference/control.md for what that costs.</value>
    public static bool ControlsRuns
    {
        get => Volatile.Read(ref _controlsRuns);
        set => Volatile.Write(ref _controlsRuns, value);
    }

    /// <summary>What is live now, with its counts. Rates and stages need a <see cref="Watch"/>.</summary>
    /// <returns>A copy, which does not change afterwards and keeps nothing in memory.</returns>
    public static WeirSnapshot Snapshot() => LiveSource.Snapshot(TimeProvider.System, null);

    /// <summary>Begins to watch: from now on, rates and the time of stages are known too. It costs a look at each live thing some times a second.</summary>
    /// <param name="options">How often it looks, and how much it remembers; <see langword="null"/> for the defaults.</param>
    /// <returns>The watch. Dispose of it to end it.</returns>
    /// <exception cref="ArgumentException">A value of <paramref name="options"/> is out of range. The exception names the property.</exception>
    public static LiveWatch Watch(LiveWatchOptions? options = null)
    {
        options ??= new LiveWatchOptions();
        options.Validate();
        return new LiveWatch(options);
    }

    /// <summary>The object behind an entry, to act on it: see <see cref="LiveAction"/> for what each kind has.</summary>
    /// <typeparam name="T">
    /// What to get, such as <see cref="RunControl"/>, <c>CircuitBreaker</c>, <c>SharedConcurrencyLimit</c>, <c>IDeadLetters</c> or <c>IQueuedItems</c>.
    /// </typeparam>
    /// <param name="id">The <see cref="LiveEntry.Id"/>.</param>
    /// <returns>The object; <see langword="null"/> if it is not live any more, or has no such side.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="id"/> is <see langword="null"/>.</exception>
    public static T? Find<T>(string id)
        where T : class
    {
        ArgumentNullException.ThrowIfNull(id);
        return LiveSource.Find(id, typeof(T)) as T;
    }
}
