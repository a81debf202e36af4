namespace Weir.PostgreSql;

/// <summary>What the server has said about a value of a row.</summary>
public enum PostgresValueState
{
    /// <summary>The value is there.</summary>
    Present,

    /// <summary>The value is null.</summary>
    Null,

    /// <summary>
    /// The value was not sent, because it is large (stored apart, as TOAST) and the update has not changed it. It is not null. The old row has it if the
    /// table's replica identity is full.
    /// </summary>
    Unchanged,

    /// <summary>The value was not sent, because the column is not part of the key and the server sends only the key of the old row.</summary>
    NotSent,
}
