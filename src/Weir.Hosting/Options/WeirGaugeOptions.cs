namespace Weir.Hosting;

/// <summary>
/// The options of the gauges of a queue or a change stream, and the values above which the health check is not healthy. They are read once, when the host
/// starts; a value out of range ends the start with one sentence.
/// </summary>
/// <remarks>
/// Set them in code, or in the configuration section <c>Weir:Gauges:NAME</c>, which wins. Keys of the section that are no option are refused. Not thread-safe:
/// set them before the host starts. All limits are <see langword="null"/> by default, so that the check only says whether the values can be read.
/// </remarks>
public sealed class WeirGaugeOptions
{
    /// <inheritdoc cref="WorkGaugeOptions.Interval"/>
    public TimeSpan Interval { get; set; } = TimeSpan.FromSeconds(15);

    /// <inheritdoc cref="WorkGaugeOptions.ReadingTimeout"/>
    public TimeSpan ReadingTimeout { get; set; } = TimeSpan.FromSeconds(10);

    /// <summary>The most items that may wait. RabbitMQ counts messages: <see cref="MaxWaitingMessages"/>.</summary>
    /// <value>Zero or more items; <see langword="null"/>, the default, for no limit.</value>
    public long? MaxWaiting { get; set; }

    /// <summary>The most messages that may wait, where items travel in messages.</summary>
    /// <value>Zero or more messages; <see langword="null"/>, the default, for no limit.</value>
    public long? MaxWaitingMessages { get; set; }

    /// <summary>For how long the next item may have been waiting. RabbitMQ does not know it.</summary>
    /// <value>More than zero; <see langword="null"/>, the default, for no limit.</value>
    public TimeSpan? MaxOldestAge { get; set; }

    /// <summary>The most dead letters that there may be.</summary>
    /// <value>Zero or more letters; <see langword="null"/>, the default, for no limit.</value>
    public long? MaxDeadLetters { get; set; }

    /// <summary>For how long a change stream may be behind.</summary>
    /// <value>More than zero; <see langword="null"/>, the default, for no limit.</value>
    public TimeSpan? MaxLag { get; set; }

    /// <summary>How much of the log may lie behind what a change stream has processed.</summary>
    /// <value>Zero or more bytes; <see langword="null"/>, the default, for no limit.</value>
    public long? MaxLagBytes { get; set; }

    /// <summary>How much of its log the server may keep for a change stream.</summary>
    /// <value>Zero or more bytes; <see langword="null"/>, the default, for no limit.</value>
    public long? MaxRetainedBytes { get; set; }
}
