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
