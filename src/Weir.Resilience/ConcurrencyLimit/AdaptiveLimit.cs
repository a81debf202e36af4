using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Dispatch;

namespace Weir.Resilience;

/// <summary>
/// A <see cref="SharedConcurrencyLimit"/> that finds its number itself: from how long the calls take and how many of them fail. For a service whose capacity
/// nobody knows, or that changes.
/// </summary>
/// <remarks>
/// <para>
/// It is one limit, with the permits and the queue of a <see cref="SharedConcurrencyLimit"/>, whose <see cref="SharedConcurrencyLimit.Limit"/> the law of
/// adaptive concurrency moves. All that shares the instance is measured together, so ten callers of one service find its capacity as one caller would. Pass it
/// wherever a shared limit is taken.
/// </para>
/// <para>
/// Calls of runs, chains and <c>ExecuteAsync</c> are measured, from the moment at which they begin: no wait counts. A permit that is taken by hand, with
/// <see cref="SharedConcurrencyLimit.TryEnter()"/> or <see cref="SharedConcurrencyLimit.EnterAsync"/>, counts as a call in flight but is not measured,
/// because nobody says how its call ended. A limit without measured calls stays where it started.
/// </para>
/// <para>All members are thread-safe. A call allocates no more than with a limit that does not move. Each limit has some 6 KB for its measurements.</para>
/// </remarks>
[DebuggerDisplay("{InUse} of {Limit} in use, {Waiting} wait")]
public sealed class AdaptiveLimit : SharedConcurrencyLimit
{
    private readonly AdaptiveController _controller;
    private readonly Clock _clock;

    /// <summary>Creates the limit.</summary>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public AdaptiveLimit(AdaptiveLimitOptions? options = null)
        : this(options ?? new AdaptiveLimitOptions(), isCounted: true)
    {
    }

    /// <summary>Creates a limit that meters count by itself, or with those of the other keys.</summary>
    internal AdaptiveLimit(AdaptiveLimitOptions options, bool isCounted)
        : this(options, ControllerOf(options))
    {
        _controller.Attach(SetLimit);
        if (isCounted)
        {
            PolicyRegistry.Add(this);
        }
    }

    private AdaptiveLimit(AdaptiveLimitOptions options, AdaptiveController controller)
        : base(controller.Limit, options.MaxWaiting, options.Name, controller)
    {
        _controller = controller;
        _clock = new Clock(options.TimeProvider);
    }

    /// <summary>What the limit is doing now.</summary>
    /// <returns>A copy.</returns>
    public AdaptiveLimitSnapshot GetSnapshot()
    {
        (int limit, int inUse, int waiting) = Read();
        double latency = _controller.Latency;
        return new AdaptiveLimitSnapshot
        {
            Limit = limit,
            InUse = inUse,
            Waiting = waiting,
            Latency = latency > 0 ? _clock.ToTimeSpan((long)Math.Ceiling(latency)) : null,
        };
    }

    private static AdaptiveController ControllerOf(AdaptiveLimitOptions options)
    {
        options.Validate();
        return new AdaptiveController(options.Adaptive.SettingsWith(options.TimeProvider));
    }
}

/// <summary>What an <see cref="AdaptiveLimit"/> is doing at one moment.</summary>
public readonly record struct AdaptiveLimitSnapshot
{
    /// <summary>How many calls may be in flight.</summary>
    public int Limit { get; init; }

    /// <summary>How many permits are in use. More than <see cref="Limit"/> for a while after it has fallen.</summary>
    public int InUse { get; init; }

    /// <summary>How many calls wait for a permit.</summary>
    public int Waiting { get; init; }

    /// <summary>The mean time of the calls that succeeded in the last window that was reviewed; <see langword="null"/> while there is none.</summary>
    public TimeSpan? Latency { get; init; }
}

/// <summary>The options of an <see cref="AdaptiveLimit"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
public sealed record AdaptiveLimitOptions
{
    /// <summary>How the limit moves, its bounds, and who is told of a change.</summary>
    /// <value>The default has bounds of 1 and 200, and starts at 32.</value>
    public AdaptiveConcurrencyOptions Adaptive { get; init; } = new();

    /// <summary>How many calls may wait for a permit at once; one more is rejected with a <see cref="ConcurrencyLimitRejectedException"/>.</summary>
    /// <value>0 or more; <see langword="null"/>, the default, for that of <see cref="SharedConcurrencyLimit.MaxWaiting"/>.</value>
    public int? MaxWaiting { get; init; }

    /// <summary>What metrics call it: see <see cref="SharedConcurrencyLimit.Name"/>.</summary>
    /// <value><see langword="null"/>, the default, for no name.</value>
    public string? Name { get; init; }

    /// <summary>The clock that measures the calls. A call for which it throws is not measured.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentNullException.ThrowIfNull(Adaptive, nameof(Adaptive));
        Adaptive.Validate();
        Require.AtLeast(0, MaxWaiting ?? 0, nameof(MaxWaiting));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
