using Weir.Delivery.Cli.Commands.Cdc.Targets;

namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>
/// Creates what a stream needs and does not have. The slot comes last, because a server keeps its log for one that nobody reads. A publication that is of no
/// use is removed again: the next set-up, of other tables, would take it.
/// </summary>
internal static class CdcSetup
{
    public static async Task RunAsync(
        NpgsqlDataSource database,
        CdcSettings settings,
        PostgresChangeSource changes,
        PostgresCheckpointStore checkpoints,
        CdcTarget target,
        CancellationToken cancellationToken)
    {
        bool isNew = await CreatePublicationAsync(database, settings.Publication, settings.Tables, cancellationToken);
        try
        {
            await changes.CheckAsync(cancellationToken);
            await target.SetupAsync(cancellationToken);
            await checkpoints.SetupAsync(cancellationToken);
            await changes.SetupAsync(cancellationToken);
        }
        catch when (isNew)
        {
            await using NpgsqlCommand drop = database.CreateCommand($"DROP PUBLICATION IF EXISTS {Quoted(settings.Publication)}");
            await drop.ExecuteNonQueryAsync(CancellationToken.None);
            throw;
        }
    }

    private static string Quoted(string name) => $"\"{name.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";

    private static async Task<bool> CreatePublicationAsync(
        NpgsqlDataSource database, string publication, IReadOnlyList<string> tables, CancellationToken cancellationToken)
    {
        if (tables.Count == 0 || await ScalarAsync("SELECT pubname::text FROM pg_catalog.pg_publication WHERE pubname = $1", publication) is not null)
        {
            return false;
        }

        List<string> found = [];
        foreach (string table in tables)
        {
            // As the server would write it, whatever the name has in it.
            found.Add(await ScalarAsync("SELECT to_regclass($1)::text", table)
                ?? throw new BadInputException($"--tables: the database has no table '{table}'."));
        }

        await using (NpgsqlCommand create = database.CreateCommand($"CREATE PUBLICATION {Quoted(publication)} FOR TABLE {string.Join(", ", found)}"))
        {
            await create.ExecuteNonQueryAsync(cancellationToken);
        }

        return true;

        async ValueTask<string?> ScalarAsync(string query, string text)
        {
            await using NpgsqlCommand command = database.CreateCommand(query);
            command.Parameters.Add(new NpgsqlParameter<string> { TypedValue = text });
            return await command.ExecuteScalarAsync(cancellationToken) as string;
        }
    }
}
