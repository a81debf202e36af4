namespace Weir.Tables.Peers;

/// <summary>A library with a queue, and how much of each work it is measured with. A slow one gets fewer items: a figure is a rate.</summary>
/// <param name="Server">The server, as the program of the arms calls it.</param>
/// <param name="Library">The library.</param>
/// <param name="Items">How many items without work are published and handled.</param>
/// <param name="SlowItems">How many of 1 ms.</param>
/// <param name="KilledItems">How many while workers are killed.</param>
internal sealed record QueuePeer(string Server, string Library, int Items, int SlowItems, int KilledItems)
{
    public const string Postgres = "postgres";
    public const string Rabbit = "rabbitmq";
    public const string Weir = "Weir";

    private const string Client = "RabbitMQ.Client";

    /// <summary>All of them, in the order of the page.</summary>
    public static IReadOnlyList<QueuePeer> All { get; } =
    [
        new(Postgres, Weir, 4000, 1000, 6000),
        new(Postgres, "Hangfire", 500, 300, 2000),
        new(Postgres, "Wolverine", 2000, 1000, 4000),
        new(Rabbit, Weir, 20_000, 2000, 6000),
        new(Rabbit, "MassTransit", 10_000, 2000, 6000),
        new(Rabbit, "Wolverine", 10_000, 2000, 6000),
        new(Rabbit, Client, 10_000, 2000, 6000),
    ];

    /// <summary>Whether Weir is compared with it: not with the client that all of them use, which shows what the broker allows.</summary>
    public bool IsPeer => Library is not (Weir or Client);

    /// <summary>What the program of the arms calls it.</summary>
    public string Arm => $"{Server}/{Library}";

    /// <summary>The server as the page calls it.</summary>
    public string ServerName => Server == Postgres ? "PostgreSQL" : "RabbitMQ";
}
