namespace Weir.Audit.Engines;

/// <summary>A queue that can be audited. This is the one place where an engine plugs in; <see cref="AuditEngines"/> has a row for each.</summary>
internal interface IAuditEngine : IAsyncDisposable
{
    /// <summary>The queue, as publishers, workers and the audit itself open it.</summary>
    IWorkQueue<string> Queue { get; }

    /// <summary>How long a worker holds items without a renewal; <see langword="null"/> if no time decides it.</summary>
    TimeSpan? Lease { get; }

    /// <summary>Publishes changes, and commits the transaction. It may be repeated with the same identities, if that fails.</summary>
    /// <param name="transaction">The transaction that records that they were published, for engines that can be part of it.</param>
    /// <param name="items">The changes.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when the changes are published and the transaction is committed.</returns>
    ValueTask PublishAsync(NpgsqlTransaction transaction, IReadOnlyList<WorkItem<string>> items, CancellationToken cancellationToken);

    /// <summary>Whether what waits includes what a worker holds.</summary>
    bool CountsWhatIsHeld { get; }

    /// <summary>Counts the messages that are not acknowledged. Those that a worker has count at the latest when it has stopped.</summary>
    ValueTask<long> CountWaitingAsync(CancellationToken cancellationToken);

    ValueTask<long> CountDeadLettersAsync(CancellationToken cancellationToken);

    /// <summary>Lists what stays behind although nobody needs it, such as leases of those who died.</summary>
    ValueTask<IReadOnlyList<string>> FindLeftoversAsync(int workers, CancellationToken cancellationToken);

    /// <summary>Removes what does not go with the database.</summary>
    ValueTask DropAsync(CancellationToken cancellationToken);
}
