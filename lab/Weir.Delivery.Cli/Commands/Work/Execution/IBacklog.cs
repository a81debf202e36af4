namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>What is still to be done of a source.</summary>
internal interface IBacklog
{
    /// <summary>Asks whether everything is done that was there at the first look.</summary>
    /// <param name="isFirstLook">Whether an item has come since the last look.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    ValueTask<bool> IsDoneAsync(bool isFirstLook, CancellationToken cancellationToken);
}
