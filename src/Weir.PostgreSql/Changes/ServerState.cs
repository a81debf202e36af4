namespace Weir.PostgreSql;

/// <summary>What a stream needs to know about the server.</summary>
/// <param name="Database">The database of the connection.</param>
/// <param name="WalEnd">Where the write-ahead log ends.</param>
/// <param name="SenderTimeout">How long the server waits for a sign of life; zero for ever.</param>
/// <param name="Encoding">The encoding of the database.</param>
internal sealed record ServerState(string Database, ulong WalEnd, TimeSpan SenderTimeout, string Encoding)
{
    /// <summary>
    /// In which encoding it sends texts, if not in UTF-8. A database without an encoding has bytes of any: asked for UTF-8, the server would end the stream at
    /// the first text that is something else.
    /// </summary>
    public string? ClientEncoding => Encoding == "SQL_ASCII" ? Encoding : null;
}
