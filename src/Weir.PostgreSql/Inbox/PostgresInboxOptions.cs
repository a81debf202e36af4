namespace Weir.PostgreSql;

/// <summary>The options of a <see cref="PostgresInbox"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record PostgresInboxOptions
{
    /// <summary>The schema of the table.</summary>
    /// <value>At most 63 bytes of UTF-8. The default is <c>weir</c>.</value>
    public string Schema { get; init; } = "weir";

    /// <summary>
    /// How long identities are remembered. An item that is delivered again after that is processed again, so this must be longer than an item can lie in its
    /// queue, with the time that its server or its workers may be away.
    /// </summary>
    /// <value>From 1 minute to 365 days. The default is 7 days. The table has one row of about 100 bytes for each item of that time.</value>
    public TimeSpan History { get; init; } = TimeSpan.FromDays(7);

    internal void Validate()
    {
        SqlName.Check(Schema, nameof(Schema));
        OptionRange.Check(
            History >= TimeSpan.FromMinutes(1) && History <= TimeSpan.FromDays(365), History, nameof(History), "from 1 minute to 365 days");
    }
}
