namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>Creates a publication, where it is not there.</summary>
internal static class CdcSetup
{
    public static async Task CreatePublicationAsync(
        NpgsqlDataSource database, string publication, IReadOnlyList<string> tables, CancellationToken cancellationToken)
    {
        if (tables.Count == 0 || await ScalarAsync("SELECT pubname::text FROM pg_catalog.pg_publication WHERE pubname = $1", publication) is not null)
        {
            return;
        }

        List<string> found = [];
        foreach (string table in tables)
        {
            // As the server would write it, whatever the name has in it.
            found.Add(await ScalarAsync("SELECT to_regclass($1)::text", table)
                ?? throw new BadInputException($"--tables: the database has no table '{table}'."));
        }

        string name = $"\"{publication.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";
        await using (NpgsqlCommand create = database.CreateCommand($"CREATE PUBLICATION {name} FOR TABLE {string.Join(", ", found)}"))
        {
            await create.ExecuteNonQueryAsync(cancellationToken);
        }

        async ValueTask<string?> ScalarAsync(string query, string text)
        {
            await using NpgsqlCommand command = database.CreateCommand(query);
            command.Parameters.Add(new NpgsqlParameter<string> { TypedValue = text });
            return await command.ExecuteScalarAsync(cancellationToken) as string;
        }
    }
}
