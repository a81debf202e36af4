namespace Weir.Delivery;

/// <summary>The options of <see cref="WorkGauges"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record WorkGaugeOptions
{
    /// <summary>How long after one reading the next begins.</summary>
    /// <value>From 100 milliseconds to 1 day. The default is 15 seconds.</value>
    public TimeSpan Interval { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>How long a reading may take. One that takes longer has failed.</summary>
    /// <value>From 100 milliseconds to 1 hour. The default is 10 seconds.</value>
    public TimeSpan ReadingTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The name in the metrics, if it is not that of the queue or stream: for two of the same name in one process.</summary>
    /// <value>Any text but an empty one; <see langword="null"/>, the default, for the name of the queue or stream.</value>
    public string? Name { get; init; }

    /// <summary>Called after each reading that failed, with the reason. There are no values then until one succeeds.</summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<Exception>? OnFault { get; init; }

    /// <summary>Called after each reading that succeeded.</summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<WorkStatistics>? OnReading { get; init; }

    /// <summary>The clock for the interval and the time limit.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        foreach ((bool isInRange, TimeSpan value, string name, string range) in Ranges())
        {
            OptionRange.Check(isInRange, value, name, range);
        }

        Require.NotEmpty(Name, nameof(Name));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }

    /// <summary>The times, and whether each is in its range.</summary>
    internal IEnumerable<(bool IsInRange, TimeSpan Value, string Name, string Range)> Ranges() =>
    [
        (Interval >= TimeSpan.FromMilliseconds(100) && Interval <= TimeSpan.FromDays(1), Interval, nameof(Interval), "from 100 milliseconds to 1 day"),
        (ReadingTimeout >= TimeSpan.FromMilliseconds(100) && ReadingTimeout <= TimeSpan.FromHours(1), ReadingTimeout, nameof(ReadingTimeout),
            "from 100 milliseconds to 1 hour"),
    ];
}
