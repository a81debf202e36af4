namespace Weir.Delivery;

/// <summary>What can say how much work waits in it: a queue, or a change stream. <see cref="WorkGauges"/> asks it at intervals.</summary>
/// <remarks>Thread-safe.</remarks>
public interface IWorkStatistics
{
    /// <summary>The name of the queue or stream. It contains no password.</summary>
    string Name { get; }

    /// <summary>What the queue or stream is in, in snake_case, such as <c>rabbitmq</c>.</summary>
    /// <value><c>weir</c>, unless it says otherwise.</value>
    string MessagingSystem => "weir";

    /// <summary>Asks the server how much waits. It takes nothing, and changes nothing.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>What the server knows. What it does not know is <see langword="null"/>.</returns>
    /// <exception cref="WorkSetupException">The queue or stream is not set up, or the user lacks a right.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default);
}

/// <summary>How much waited in a queue or a change stream when its server was asked. What the server does not know is <see langword="null"/>.</summary>
/// <remarks>
/// The table in docs/reference/queue-gauges.md says which engine knows what. Counts are of one moment, or of a few moments close to each other. They are of the whole
/// queue: all processes read the same.
/// </remarks>
public sealed record WorkStatistics
{
    /// <summary>Items that could be taken now, and that nobody has. With an order of keys, those behind another item of their key count too.</summary>
    /// <value>Items.</value>
    public long? Waiting { get; init; }

    /// <summary>Items that wait for their time: for the end of a delay, or for their next attempt.</summary>
    /// <value>Items.</value>
    public long? Scheduled { get; init; }

    /// <summary>Items that consumers have taken and not acknowledged, in all processes.</summary>
    /// <value>Items.</value>
    public long? InFlight { get; init; }

    /// <summary>For how long the item that is next in line could have been taken: since it was enqueued, or since its delay ended.</summary>
    /// <value>Zero if none waits.</value>
    public TimeSpan? OldestAge { get; init; }

    /// <summary>Letters in the store of dead letters.</summary>
    /// <value>Letters.</value>
    public long? DeadLetters { get; init; }

    /// <summary>Messages that could be taken now, and that nobody has, if items travel in messages and the server knows only these.</summary>
    /// <value>Messages, each of which has one or more items.</value>
    public long? WaitingMessages { get; init; }

    /// <summary>Messages that wait for their time, if items travel in messages and the server knows only these.</summary>
    /// <value>Messages, each of which has one or more items.</value>
    public long? ScheduledMessages { get; init; }

    /// <summary>How much of the server's log lies behind what a change stream has processed. A part may be of other tables, or of other databases.</summary>
    /// <value>Bytes.</value>
    public long? LagBytes { get; init; }

    /// <summary>
    /// For how long at least a change stream has been behind: since the first reading that saw the log end beyond the place where the stream is now. Zero if
    /// the stream is at the end of the log. The truth is at most one interval between two readings more, or a hundredth of the whole time.
    /// </summary>
    /// <value><see langword="null"/> if this is the first reading, and the stream is behind.</value>
    public TimeSpan? Lag { get; init; }

    /// <summary>How much of its log the server keeps on its disk for a change stream.</summary>
    /// <value>Bytes.</value>
    public long? RetainedBytes { get; init; }

    /// <summary>How much more log the server can write until it may remove what a change stream needs. Negative when it already may.</summary>
    /// <value>Bytes. <see langword="null"/> if the server has no such limit.</value>
    public long? RemainingBytes { get; init; }

    /// <summary>Whether somebody reads a change stream.</summary>
    public bool? IsActive { get; init; }

    /// <summary>Whether the server still has all of the log that a change stream needs.</summary>
    public WorkLogState? LogState { get; init; }
}

/// <summary>Whether a server still has the log that a change stream needs.</summary>
public enum WorkLogState
{
    /// <summary>It has it, within the size of the log that it always keeps.</summary>
    Reserved,

    /// <summary>It has it, and keeps more of its log than it would without the stream.</summary>
    Extended,

    /// <summary>It no longer promises it, and may remove it at its next checkpoint. A stream that catches up before is saved.</summary>
    Unreserved,

    /// <summary>It has removed some of it: changes are lost.</summary>
    Lost,
}
