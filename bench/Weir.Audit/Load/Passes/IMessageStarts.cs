namespace Weir.Audit.Load.Passes;

/// <summary>Says when the next message is to be published.</summary>
internal interface IMessageStarts : IDisposable
{
    /// <summary>How many messages came too late, if that can be said.</summary>
    long LateStarts { get; }

    /// <summary>Waits for the next message, and takes those as well that are due already.</summary>
    /// <param name="intended">Gets the time at which each should be published. As many are taken at most.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How many there are, at least 1.</returns>
    ValueTask<int> TakeAsync(Memory<long> intended, CancellationToken cancellationToken);

    /// <summary>Messages have been published.</summary>
    void Published(int messages);

    void Done(int items);
}
