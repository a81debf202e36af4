using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// A name that one connection has. The server gives it back when the connection ends, which it is when its process was killed. So whoever works on this
/// connection knows that the name is still held.
/// </summary>
internal sealed class AdvisoryLock : ICheckpointLock
{
    // A process that was killed a moment ago may still have its connection.
    private const string Patience = "SET LOCAL lock_timeout = '2s'";

    // Of a host that is gone, the server hears nothing. With these it closes the connection after half a minute, and not after hours.
    private const string KeepAlive = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4";

    private AdvisoryLock(NpgsqlConnection connection) => Connection = connection;

    /// <summary>The connection that holds it.</summary>
    public NpgsqlConnection Connection { get; }

    /// <summary>Takes a name, and does something before anybody else may.</summary>
    /// <param name="database">Where.</param>
    /// <param name="name">The name, one for all of the database.</param>
    /// <param name="first">Runs in the transaction that takes the name; null for nothing.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The lock; null if somebody else has it.</returns>
    public static async ValueTask<AdvisoryLock?> TryTakeAsync(
        Database database, string name, Func<NpgsqlConnection, CancellationToken, ValueTask>? first, CancellationToken cancellationToken)
    {
        NpgsqlConnection connection = await database.OpenAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            await database.ExecuteOnAsync(connection, KeepAlive, cancellationToken).ConfigureAwait(false);
            NpgsqlTransaction transaction = await connection.BeginTransactionAsync(cancellationToken).ConfigureAwait(false);
            await using (transaction.ConfigureAwait(false))
            {
                await database.ExecuteOnAsync(connection, Patience, cancellationToken).ConfigureAwait(false);
                await database.ExecuteOnAsync(
                    connection, "SELECT pg_advisory_lock(hashtextextended($1, 0))", cancellationToken, Parameter.Of($"weir checkpoint {name}")).ConfigureAwait(false);
                if (first is not null)
                {
                    await first(connection, cancellationToken).ConfigureAwait(false);
                }

                await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
            }

            return new AdvisoryLock(connection);
        }
        catch (PostgresException e) when (e.SqlState == PostgresErrorCodes.LockNotAvailable)
        {
            await LetGoAsync(connection).ConfigureAwait(false);
            return null;
        }
        catch
        {
            await LetGoAsync(connection).ConfigureAwait(false);
            throw;
        }
    }

    /// <inheritdoc/>
    public async ValueTask CheckAsync(CancellationToken cancellationToken = default)
    {
        NpgsqlCommand command = new("SELECT", Connection);
        await using (command.ConfigureAwait(false))
        {
            await command.ExecuteNonQueryAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => LetGoAsync(Connection);

    // A pooled connection would keep the lock until somebody else uses it.
    private static async ValueTask LetGoAsync(NpgsqlConnection connection)
    {
        await using (connection.ConfigureAwait(false))
        {
            try
            {
                NpgsqlCommand command = new("SELECT pg_advisory_unlock_all()", connection);
                await using (command.ConfigureAwait(false))
                {
                    await command.ExecuteNonQueryAsync().ConfigureAwait(false);
                }
            }
            catch (Exception e) when (e is NpgsqlException or InvalidOperationException)
            {
                // The connection is broken, and the server gives the lock back.
            }
        }
    }
}
