using Npgsql;

namespace Weir.PostgreSql;

/// <summary>Creates a part of the schema, such as a queue, if it does not exist. If it exists, checks that it matches, or brings it to this version.</summary>
/// <param name="database">Where.</param>
/// <param name="schema">The schema, which is created as well.</param>
/// <param name="part">The name of the part in the table of versions.</param>
/// <param name="settings">What the tables depend on; part of what must match.</param>
/// <param name="tables">The statements that create its tables. Those of several parts may create the same table, if it is not there.</param>
/// <param name="version">The version of these tables.</param>
/// <param name="upgrade">The statements that make tables of a version into those of the next one, without harm to programs of that version that run.</param>
/// <remarks>
/// The table of versions has two versions for each part: that of the oldest program that can work with the tables, and that of the tables. A program compares
/// the first one with its own, so programs of the version before and of this one run side by side after an upgrade.
/// </remarks>
internal sealed class SetupPart(
    Database database,
    string schema,
    string part,
    string settings,
    Func<IEnumerable<string>> tables,
    int version = 1,
    Func<int, IEnumerable<string>>? upgrade = null)
{
    // The key of the lock that lets one program at a time set up a database. Any number, but the same in all versions.
    private const long SetupLock = 0x57656972;

    private readonly string _parts = $"{SqlName.Quote(schema)}.parts";

    // The version before, if there is a way from it.
    private readonly int _oldest = upgrade is null ? version : version - 1;

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
                    Found? found = await FindAsync(connection, token).ConfigureAwait(false);
                    if (found is not null)
                    {
                        CheckSettings(found);
                    }

                    if (found is not null && !(upgrade is not null && found.Version == version - 1))
                    {
                        CheckVersion(found);
                        return false;
                    }

                    await RunAllAsync(connection, found is null ? tables() : upgrade!(found.Version), token).ConfigureAwait(false);
                    await AddRevisionIfMissingAsync(connection, token).ConfigureAwait(false);
                    await database.ExecuteOnAsync(
                        connection,
                        $"""
                        INSERT INTO {_parts} (part, version, revision, settings) VALUES ($1, $2, $3, $4)
                        ON CONFLICT (part) DO UPDATE SET version = excluded.version, revision = excluded.revision
                        """,
                        token,
                        new NpgsqlParameter<string> { TypedValue = part },
                        new NpgsqlParameter<int> { TypedValue = _oldest },
                        new NpgsqlParameter<int> { TypedValue = version },
                        new NpgsqlParameter<string> { TypedValue = settings }).ConfigureAwait(false);
                    await transaction.CommitAsync(token).ConfigureAwait(false);
                    return true;
                }
            },
            cancellationToken).ConfigureAwait(false);

    public async ValueTask CheckAsync(CancellationToken cancellationToken)
    {
        Found found = await database.RunAsync(FindAsync, cancellationToken).ConfigureAwait(false)
            ?? throw new WorkSetupException($"Schema '{schema}' does not have {database.What}: call SetupAsync once, as a user who may create tables.");
        CheckVersion(found);
        CheckSettings(found);
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

        await RunAllAsync(connection, statements, token).ConfigureAwait(false);
    }

    private string[] SchemaStatements() =>
    [
        $"CREATE SCHEMA {SqlName.Quote(schema)}",
        $"CREATE TABLE {_parts} (part text PRIMARY KEY, version integer NOT NULL, settings text NOT NULL, revision integer)",
    ];

    private async ValueTask RunAllAsync(NpgsqlConnection connection, IEnumerable<string> statements, CancellationToken token)
    {
        foreach (string statement in statements)
        {
            await database.ExecuteOnAsync(connection, statement, token).ConfigureAwait(false);
        }
    }

    // The first programs made the table without the column of the tables' own version. Only its owner can add it.
    private async ValueTask AddRevisionIfMissingAsync(NpgsqlConnection connection, CancellationToken token)
    {
        List<bool> isThere = await database.QueryOnAsync(
            connection,
            "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = 'revision')",
            static r => r.GetBoolean(0),
            token,
            new NpgsqlParameter<string> { TypedValue = _parts }).ConfigureAwait(false);
        if (!isThere[0])
        {
            await database.ExecuteOnAsync(connection, $"ALTER TABLE {_parts} ADD COLUMN revision integer", token).ConfigureAwait(false);
        }
    }

    private async ValueTask<Found?> FindAsync(NpgsqlConnection connection, CancellationToken token)
    {
        List<Found> found = await database.QueryOnAsync(
            connection,
            $"SELECT version, greatest((to_jsonb(p) ->> 'revision')::integer, version), settings FROM {_parts} p WHERE part = $1",
            static r => new Found(r.GetInt32(0), r.GetInt32(1), r.GetString(2)),
            token,
            new NpgsqlParameter<string> { TypedValue = part }).ConfigureAwait(false);
        return found.FirstOrDefault();
    }

    private void CheckVersion(Found found)
    {
        if (found.Version < version)
        {
            throw new WorkSetupException(
                $"The tables of {database.What} in schema '{schema}' have version {found.Version}, and this program needs version {version}: "
                + (found.Version == _oldest
                    ? "call SetupAsync once, as their owner. Programs of the version before can run meanwhile and afterwards."
                    : "bring them on version by version, with the SetupAsync of each in between, or let the version of Weir.PostgreSql that made them process what is "
                        + "left and then remove them. docs/reference/postgresql.md says how."));
        }

        if (found.Oldest > version)
        {
            throw new WorkSetupException(
                $"The tables of {database.What} in schema '{schema}' have version {found.Version}, and this program knows those up to {version}: "
                + "run a newer version of Weir.PostgreSql, or use another schema.");
        }
    }

    private void CheckSettings(Found found)
    {
        if (found.Settings != settings)
        {
            throw new WorkSetupException(
                $"{database.What} in schema '{schema}' was set up with '{found.Settings}', and is opened with '{settings}': "
                + "use the same options, or another name.");
        }
    }

    private sealed record Found(int Oldest, int Version, string Settings);
}
