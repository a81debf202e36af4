using Npgsql;

namespace Weir.PostgreSql;

/// <summary>Creates a part of the schema, such as a queue, if it does not exist, and otherwise checks that it matches.</summary>
/// <param name="database">Where.</param>
/// <param name="schema">The schema, which is created as well.</param>
/// <param name="part">The name of the part in the table of versions.</param>
/// <param name="settings">What the tables depend on; part of what must match.</param>
/// <param name="tables">The statements that create its tables. Those of several parts may create the same table, if it is not there.</param>
/// <param name="version">The version of these tables.</param>
internal sealed class SetupPart(Database database, string schema, string part, string settings, Func<IEnumerable<string>> tables, int version = 1)
{
    // The key of the lock that lets one program at a time set up a database. Any number, but the same in all versions.
    private const long SetupLock = 0x57656972;

    private readonly string _parts = $"{SqlName.Quote(schema)}.parts";

    public async Task CreateAsync(CancellationToken cancellationToken) =>
        await database.RunAsync(
            async (connection, token) =>
            {
                NpgsqlTransaction transaction = await connection.BeginTransactionAsync(token).ConfigureAwait(false);
                await using (transaction.ConfigureAwait(false))
                {
                    await database.ExecuteOnAsync(connection, "SELECT pg_advisory_xact_lock($1)", token, new NpgsqlParameter<long> { TypedValue = SetupLock })
                        .ConfigureAwait(false);

                    // Checked first, so that a user who may not create anything can call this when everything exists.
                    await CreateIfMissingAsync(connection, "SELECT to_regnamespace($1) IS NOT NULL", SqlName.Quote(schema), SchemaStatements(), token)
                        .ConfigureAwait(false);
                    if (await FindAsync(connection, token).ConfigureAwait(false) is { } found)
                    {
                        Check(found);
                        return false;
                    }

                    foreach (string statement in tables())
                    {
                        await database.ExecuteOnAsync(connection, statement, token).ConfigureAwait(false);
                    }

                    await database.ExecuteOnAsync(
                        connection,
                        $"INSERT INTO {_parts} (part, version, settings) VALUES ($1, $2, $3)",
                        token,
                        new NpgsqlParameter<string> { TypedValue = part },
                        new NpgsqlParameter<int> { TypedValue = version },
                        new NpgsqlParameter<string> { TypedValue = settings }).ConfigureAwait(false);
                    await transaction.CommitAsync(token).ConfigureAwait(false);
                    return true;
                }
            },
            cancellationToken).ConfigureAwait(false);

    public async ValueTask CheckAsync(CancellationToken cancellationToken)
    {
        (int, string)? found = await database.RunAsync(FindAsync, cancellationToken).ConfigureAwait(false);
        Check(found ?? throw new WorkSetupException(
            $"Schema '{schema}' does not have {database.What}: call SetupAsync once, as a user who may create tables."));
    }

    private async ValueTask CreateIfMissingAsync(
        NpgsqlConnection connection, string query, string name, IEnumerable<string> statements, CancellationToken token)
    {
        List<bool> isThere = await database.QueryOnAsync(
            connection, query, static r => r.GetBoolean(0), token, new NpgsqlParameter<string> { TypedValue = name }).ConfigureAwait(false);
        if (isThere[0])
        {
            List<bool> hasParts = await database.QueryOnAsync(
                connection, "SELECT to_regclass($1) IS NOT NULL", static r => r.GetBoolean(0), token, new NpgsqlParameter<string> { TypedValue = _parts })
                .ConfigureAwait(false);
            statements = hasParts[0] ? [] : statements.Skip(1);
        }

        foreach (string statement in statements)
        {
            await database.ExecuteOnAsync(connection, statement, token).ConfigureAwait(false);
        }
    }

    private string[] SchemaStatements() =>
    [
        $"CREATE SCHEMA {SqlName.Quote(schema)}",
        $"CREATE TABLE {_parts} (part text PRIMARY KEY, version integer NOT NULL, settings text NOT NULL)",
    ];

    private async ValueTask<(int Version, string Settings)?> FindAsync(NpgsqlConnection connection, CancellationToken token)
    {
        List<(int, string)> found = await database.QueryOnAsync(
            connection,
            $"SELECT version, settings FROM {_parts} WHERE part = $1",
            static r => (r.GetInt32(0), r.GetString(1)),
            token,
            new NpgsqlParameter<string> { TypedValue = part }).ConfigureAwait(false);
        return found.Count == 0 ? null : found[0];
    }

    private void Check((int Version, string Settings) found)
    {
        if (found.Version != version)
        {
            throw new WorkSetupException(
                $"The tables of {database.What} in schema '{schema}' have version {found.Version}, and this program needs version {version}: "
                + "run the version of Weir.PostgreSql that made them, or use another schema.");
        }

        if (found.Settings != settings)
        {
            throw new WorkSetupException(
                $"{database.What} in schema '{schema}' was set up with '{found.Settings}', and is opened with '{settings}': "
                + "use the same options, or another name.");
        }
    }
}
