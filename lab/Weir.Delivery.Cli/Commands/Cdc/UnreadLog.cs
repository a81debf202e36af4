using NpgsqlTypes;

namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>
/// The part of a server's log that the position has not passed. A server that is busy, that copies a table or reads a long transaction sends nothing for a
/// while, and is not at its end.
/// </summary>
internal sealed class UnreadLog(NpgsqlDataSource database, PostgresCheckpointStore checkpoints, string name)
{
    // Of a primary: a stream refuses a standby.
    private const string End = "SELECT pg_current_wal_flush_lsn()";

    private NpgsqlLogSequenceNumber? _end;

    /// <summary>Asks whether everything is done that was there at the first look.</summary>
    public async ValueTask<bool> IsDoneAsync(bool isFirstLook, CancellationToken cancellationToken)
    {
        try
        {
            if (isFirstLook || _end is null)
            {
                await using NpgsqlCommand command = database.CreateCommand(End);
                _end = (NpgsqlLogSequenceNumber?)await command.ExecuteScalarAsync(cancellationToken);
            }

            // A snapshot that is not complete has no place in the log, and a part of a transaction is behind the plus.
            string? position = await checkpoints.LoadAsync(name, cancellationToken);
            return NpgsqlLogSequenceNumber.TryParse(position?.Split('+')[0] ?? "", out NpgsqlLogSequenceNumber done) && done >= _end;
        }
        catch (PostgresException)
        {
            // A server that answers, and does not tell. Then only the silence counts.
            return true;
        }
        catch (NpgsqlException)
        {
            // It is away. The stream hears of that, too.
            return false;
        }
    }
}
