namespace Weir.PostgreSql;

/// <summary>What a stream needs to know about the server.</summary>
/// <param name="Database">The database of the connection.</param>
/// <param name="WalEnd">Where the write-ahead log ends.</param>
/// <param name="SenderTimeout">How long the server waits for a sign of life; zero for ever.</param>
internal sealed record ServerState(string Database, ulong WalEnd, TimeSpan SenderTimeout);
