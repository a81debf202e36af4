namespace Weir.Tables.Servers.Turns;

/// <summary>What a section is measured with.</summary>
/// <param name="Server">The address of the server.</param>
/// <param name="Rounds">How often each arm is measured, after one round that warms up.</param>
/// <param name="Find">The value of an option.</param>
/// <param name="Progress">Where progress goes.</param>
internal sealed record FigureOrder(OptionValue Server, int Rounds, Func<TextOption, OptionValue?> Find, TextWriter Progress)
{
    /// <summary>The option of those that are measured on PostgreSQL.</summary>
    public static TextOption Postgres() => TextOption.Of("--postgres", "WEIR_POSTGRES", "ADDRESS",
        "A server, on which a database is created and dropped: a connection string of Npgsql or postgres://USER@HOST/DATABASE");

    public Task<FigureDatabase> CreateDatabaseAsync(CancellationToken stop) => FigureDatabase.CreateAsync(PostgresEngine.Connection(Server), stop);
}
