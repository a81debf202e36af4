namespace Weir.Delivery;

/// <summary>A queue of work: a publishing end, any number of consumers that compete for the items, and a place for those that nobody could process.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Thread-safe. Sources and sinks that were opened are not, and end with the queue.</remarks>
public interface IWorkQueue<T> : IAsyncDisposable
{
    /// <summary>The name of the queue.</summary>
    string Name { get; }

    /// <summary>Items that nobody could process.</summary>
    IDeadLetters DeadLetters { get; }

    /// <summary>Creates what the queue needs, where it is not there yet: tables, or exchanges and queues. What is there already must match.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when the queue can be used.</returns>
    /// <exception cref="WorkSetupException">Something with the same name is there that does not match.</exception>
    Task SetupAsync(CancellationToken cancellationToken = default);

    /// <summary>Opens a publishing end.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A sink, which the caller disposes.</returns>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    ValueTask<IWorkSink<T>> OpenSinkAsync(CancellationToken cancellationToken = default);

    /// <summary>Opens a consuming end.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A source, which the caller disposes. What it has read and not acknowledged goes to others then.</returns>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    ValueTask<IWorkSource<T>> OpenSourceAsync(CancellationToken cancellationToken = default);
}
