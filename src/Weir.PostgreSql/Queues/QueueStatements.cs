using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>
/// The statements of a queue. A row of its table is an item; its consumer is the lease that it was taken under, and null while nobody has it. Items that were
/// enqueued together are one row of another table, a pack, until one of them has to be told from the others.
/// </summary>
internal sealed partial class QueueStatements
{
    /// <summary>The version of the tables. Programs of the version before can go on with them.</summary>
    public const int Version = 4;

    /// <summary>How many messages are forgotten at a time.</summary>
    public const int Forgotten = 5000;

    private const string Prefix = "queue_";
    private const string PackPrefix = "packs_";

    // Only the consumer that has this very delivery of an item can settle it. One that took it before has lost it.
    private const string Mine = "t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease";
    private const string Free = "consumer IS NULL AND expired = 0 AND due <= now()";
    private const string StillFree = "coalesce(c.consumer, 0) = 0 AND c.expired < 1";
    private const string Deliveries = "unnest($1, $2, $3) AS d(id, delivery, lease)";

    // How many rows a take looks at to find the first items of keys.
    private const int MinFront = 1000;

    private readonly string _items;
    private readonly string _packs;
    private readonly string _consumers;
    private readonly string _dead;
    private readonly string _published;
    private readonly string _schema;
    private readonly string _queue;
    private readonly string _notify;
    private readonly bool _isKeyed;

    public QueueStatements(string name, PostgresWorkQueueOptions options)
    {
        _schema = SqlName.Quote(options.Schema);
        _items = $"{_schema}.{SqlName.Quote(Prefix + name)}";
        _packs = $"{_schema}.{SqlName.Quote(PackPrefix + name)}";
        _consumers = $"{_schema}.consumers";
        _dead = $"{_schema}.dead_letters";
        _published = $"{_schema}.published";
        _isKeyed = options.KeepKeyOrder;
        Settings = _isKeyed ? "key order" : "no key order";
        _queue = SqlName.Literal(name);

        // A hash, because names of channels are short. With the schema in it, because channels are shared by all schemas of a database.
        byte[] hash = SHA256.HashData(Encoding.UTF8.GetBytes($"{options.Schema}\0{name}"));
        Channel = $"weir_{Convert.ToHexStringLower(hash.AsSpan(0, 12))}";
        _notify = options.UseNotifications ? $"SELECT pg_notify('{Channel}', '')" : "SELECT 1";
        bool remembers = options.DuplicateHistory > TimeSpan.Zero;
        int most = options.MaxItemsPerBatch;
        MaxPack = _isKeyed || most < WorthPacking ? 0 : most;
        Enqueue = remembers ? EnqueueNew() : EnqueueAll();
        EnqueuePack = remembers ? EnqueueNewPack() : InsertPack;
        EnqueueFresh = remembers ? EnqueueFreshRows() : null;
        EnqueueFreshPack = remembers ? Fresh($"{InsertPack} FROM known") : null;
        ForgetPublished = ForgetOld();
        Register = $"INSERT INTO {_consumers} (queue, host, lease_until) VALUES ({_queue}, $1, now() + $2) RETURNING id";
        Renew = $"UPDATE {_consumers} SET lease_until = now() + $2 WHERE id = ANY ($1) RETURNING id";
        Reap = ReapLost(most);
        string row = string.Create(
            CultureInfo.InvariantCulture,
            $"""
            t.id, t.delivery, t.origin, t.place, t.key, t.attempt, t.headers,
                CASE WHEN octet_length(t.payload) <= {options.MaxItemBytes} THEN t.payload END, t.expired
            """);
        MaxHeads = most;
        int front = Math.Max(MinFront, 4 * most);
        Take = _isKeyed ? TakeKeyed(InFront(front, most), most, row) : TakeAny(most, row);
        TakeHeads = TakeKeyed(Named(most), most, row);
        FirstKeys = Keys("i.key IS NOT NULL", most);
        NextKeys = Keys("i.key > $1", most);
        TakeSuspects = TakeBand(most, row);
        TakeOlderPacks = TakePackRows(most, $" AND c.due <= coalesce((SELECT due FROM {_items} WHERE {Free} ORDER BY due, id LIMIT 1), 'infinity')");
        TakePacks = TakePackRows(most, "");
        NextDue = _isKeyed ? NextKeyedDue(front) : NextItemOrPackDue(most);
        OpenLostPacks = OpenLost();
        OpenHeldPack = OpenHeld();
        OpenLongPack = Open($"consumer IS NULL AND size > {most} AND due <= now() ORDER BY due, id DESC LIMIT 1 FOR UPDATE SKIP LOCKED", "p.consumer");
        OpenNamedPacks = OpenNamed();

        // None of these notifies: transactions with a notification commit one at a time in the whole server. Whoever runs them notifies afterwards.
        Acknowledge = $"DELETE FROM {_items} t USING {Deliveries} WHERE {Mine}";
        AcknowledgePacks = $"DELETE FROM {_packs} t USING {Deliveries} WHERE {Mine}";
        Return = $"UPDATE {_items} t SET consumer = NULL{Headless} FROM {Deliveries} WHERE {Mine}";
        ReturnPacks = $"UPDATE {_packs} t SET consumer = NULL FROM {Deliveries} WHERE {Mine}";
        Redeliver = RedeliverRows();
        Forget = ForgetTaken();
        Release = ReleaseLeases();
        Bury = BuryRows();
        AddLetters = AddToLetters();
        Count = CountAll();
        ListItems = $"SELECT {ItemColumns} FROM {_items} WHERE id > $1 ORDER BY id LIMIT $2";
        ListPack = ListOfPack();
        FindItem = FindOne();
        CancelItems = CancelRows();
        ListLetters = $"SELECT {LetterColumns} FROM {_dead} WHERE queue = {_queue} AND number > $1 ORDER BY number LIMIT $2";
        FindLetter = $"SELECT {LetterColumns} FROM {_dead} WHERE queue = {_queue} AND id = $1";
        RemoveLetters = $"DELETE FROM {_dead} WHERE queue = {_queue} AND id = ANY ($1)";
        Replay = ReplayLetters();
    }

    public string Settings { get; }

    public string Channel { get; }

    /// <summary>Whether there is a table of packs. A queue that keeps the order of keys has none.</summary>
    public bool HasPacks => !_isKeyed;

    /// <summary>How many items this program packs at most; 0 if it packs none.</summary>
    public int MaxPack { get; }

    /// <summary>Stores items, and returns the places, from 0, of those that were enqueued before.</summary>
    public string Enqueue { get; }

    /// <summary>The same as a pack. If some of the items were enqueued before, the others become rows.</summary>
    public string EnqueuePack { get; }

    /// <summary>Stores items of one origin if none of them was enqueued before, and nothing otherwise. Null if nobody asks what was enqueued before.</summary>
    public string? EnqueueFresh { get; }

    /// <summary>The same as a pack.</summary>
    public string? EnqueueFreshPack { get; }

    /// <summary>Forgets identities that are older than the history, up to <see cref="Forgotten"/> messages at a time.</summary>
    public string ForgetPublished { get; }

    public string Register { get; }

    public string Renew { get; }

    public string Reap { get; }

    public string Take { get; }

    /// <summary>Takes items whose rows are named, and those that follow in the order of their keys.</summary>
    public string TakeHeads { get; }

    /// <summary>Finds the first items of some keys, from the first key on, and items without a key, wherever their rows lie.</summary>
    public string FirstKeys { get; }

    /// <summary>The same from the key on that comes after a given one.</summary>
    public string NextKeys { get; }

    /// <summary>How many keys one of them looks at.</summary>
    public int MaxHeads { get; }

    /// <summary>Takes a band of suspect rows.</summary>
    public string TakeSuspects { get; }

    /// <summary>Takes packs, unless a row is due for longer than all of them.</summary>
    public string TakeOlderPacks { get; }

    /// <summary>Takes packs.</summary>
    public string TakePacks { get; }

    /// <summary>
    /// When the next item falls due, and whether there is more than a take has seen: so many rows that it does not look at all of them, or a pack that is
    /// too long for this consumer.
    /// </summary>
    public string NextDue { get; }

    /// <summary>Makes rows of what consumers that have disappeared had in packs.</summary>
    public string OpenLostPacks { get; }

    /// <summary>Makes rows of a pack, which stay with its consumer, and returns their numbers in the order of the pack. So does repeating it.</summary>
    public string OpenHeldPack { get; }

    /// <summary>Makes rows of a pack that has more items than a consumer takes at once.</summary>
    public string OpenLongPack { get; }

    /// <summary>Makes rows of the packs that nobody has and that have one of some items.</summary>
    public string OpenNamedPacks { get; }

    public string Acknowledge { get; }

    public string AcknowledgePacks { get; }

    public string Return { get; }

    public string ReturnPacks { get; }

    public string Redeliver { get; }

    public string Forget { get; }

    public string Release { get; }

    public string Bury { get; }

    public string AddLetters { get; }

    /// <summary>Counts what waits, what waits for its time, what consumers have, and the dead letters, and how long the next item has been due.</summary>
    public string Count { get; }

    public string ListItems { get; }

    /// <summary>The items of the pack that comes after a given one.</summary>
    public string ListPack { get; }

    public string FindItem { get; }

    public string CancelItems { get; }

    public string ListLetters { get; }

    public string FindLetter { get; }

    public string RemoveLetters { get; }

    public string Replay { get; }

    // A head is the first item of its key in a batch. A unique index allows one for each key.
    private string Headless => _isKeyed ? ", head = false" : "";
}
