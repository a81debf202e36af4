namespace Weir.Audit.Checks;

/// <summary>
/// Does again and again what a worker does to keep its lease: a short transaction, on a connection of its own. Where that takes long, the machine holds the
/// workers up too, and that they lost a lease says nothing of the queue.
/// </summary>
internal sealed class RenewalProbe : IAsyncDisposable
{
    // A worker renews its lease this often while it lasts, and gives a renewal up that takes as long as until the next one.
    private const int Renewals = 4;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    private readonly NpgsqlDataSource _database;
    private readonly TimeSpan _lease;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _probing;
    private long _begun = Stopwatch.GetTimestamp();
    private TimeSpan _longest;

    /// <summary>Begins.</summary>
    /// <param name="database">Where the tables of the audit are.</param>
    /// <param name="lease">How long a lease lasts.</param>
    public RenewalProbe(NpgsqlDataSource database, TimeSpan lease)
    {
        (_database, _lease) = (database, lease);
        _probing = Task.Run(ProbeAsync);
    }

    /// <summary>Ends it.</summary>
    /// <returns>What may have ended a lease, in words; <see langword="null"/> if nothing has.</returns>
    public async Task<string?> EndAsync()
    {
        await _stop.CancelAsync();
        await _probing;

        // The one that was under way may have waited for a long time.
        TimeSpan longest = TimeSpan.FromTicks(Math.Max(_longest.Ticks, Stopwatch.GetElapsedTime(_begun).Ticks));
        return longest > _lease / Renewals ? Invariant($"the machine held a lease's renewal up for {longest.TotalSeconds:0.0} s") : null;
    }

    public async ValueTask DisposeAsync()
    {
        await EndAsync();
        _stop.Dispose();
    }

    private async Task ProbeAsync()
    {
        try
        {
            await using NpgsqlConnection connection = await _database.OpenConnectionAsync(_stop.Token);
            while (!_stop.IsCancellationRequested)
            {
                await AuditTables.ExecuteAsync(connection, "UPDATE renewals SET number = number + 1", _stop.Token);
                TimeSpan took = Stopwatch.GetElapsedTime(_begun);
                _longest = took > _longest ? took : _longest;
                _begun = Stopwatch.GetTimestamp();
                await Task.Delay(Pause, _stop.Token);
            }
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            // The round is over.
        }
        catch (NpgsqlException)
        {
            // So may a worker's have been, and its time runs until the round is over.
        }
    }
}
