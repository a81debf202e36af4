using Microsoft.Extensions.Logging;

namespace Weir.Hosting;

/// <summary>The dead letters of a queue, each of which is logged when it has been stored.</summary>
internal sealed class LoggedDeadLetters(IDeadLetters inner, ILogger logger, string worker) : IDeadLetters
{
    public async ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default)
    {
        await inner.AddAsync(letters, cancellationToken).ConfigureAwait(false);
        foreach (DeadLetter letter in letters)
        {
            WorkerLog.DeadLettered(logger, worker, letter.Id, letter.Attempts, letter.Reason);
        }
    }

    public IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default) => inner.ListAsync(limit, cancellationToken);

    public ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default) => inner.FindAsync(id, cancellationToken);

    public ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) => inner.ReplayAsync(ids, cancellationToken);

    public ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) => inner.RemoveAsync(ids, cancellationToken);
}
