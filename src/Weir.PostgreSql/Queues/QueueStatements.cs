using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>
/// The statements of a queue. A row of its table is an item; its consumer is the lease that it was taken under, and null while nobody has it.
/// </summary>
internal sealed partial class QueueStatements
{
    /// <summary>The version of the tables. Programs of the version before can go on with them.</summary>
    public const int Version = 3;

    /// <summary>How many messages are forgotten at a time.</summary>
    public const int Forgotten = 5000;

    // Of one consumer at a time. The rest follows the next time, a quarter of a lease later.
    private const int MostReaped = 20_000;

    private const string Prefix = "queue_";

    // Only the consumer that has this very delivery of an item can settle it. One that took it before has lost it.
    private const string Mine = "t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease";
    private const string Free = "consumer IS NULL AND expired = 0 AND due <= now()";

    private const string StillFree = "coalesce(c.consumer, 0) = 0 AND c.expired < 1";

    // How many rows a take looks at to find the first items of keys.
    private const int MinFront = 1000;
    private const string Deliveries = "unnest($1, $2, $3) AS d(id, delivery, lease)";

    private readonly string _items;
    private readonly string _consumers;
    private readonly string _dead;
    private readonly string _published;
    private readonly string _schema;
    private readonly bool _isKeyed;

    public QueueStatements(string name, PostgresWorkQueueOptions options)
    {
        _schema = SqlName.Quote(options.Schema);
        _items = $"{_schema}.{SqlName.Quote(Prefix + name)}";
        _consumers = $"{_schema}.consumers";
        _dead = $"{_schema}.dead_letters";
        _published = $"{_schema}.published";
        _isKeyed = options.KeepKeyOrder;
        Settings = _isKeyed ? "key order" : "no key order";
        string queue = SqlName.Literal(name);

        // A hash, because names of channels are short. With the schema in it, because channels are shared by all schemas of a database.
        byte[] hash = SHA256.HashData(Encoding.UTF8.GetBytes($"{options.Schema}\0{name}"));
        Channel = $"weir_{Convert.ToHexStringLower(hash.AsSpan(0, 12))}";
        string notify = options.UseNotifications ? $"SELECT pg_notify('{Channel}', '')" : "SELECT 1";
        Enqueue = options.DuplicateHistory > TimeSpan.Zero ? EnqueueNew(queue) : $"""
            INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
            SELECT origin, place, key, attempt, headers, payload, now() + $7
            FROM unnest($1, $2, $3, $4, $5, $6) AS u(origin, place, key, attempt, headers, payload)
            """;
        ForgetPublished = $"""
            DELETE FROM {_published} WHERE queue = {queue} AND origin IN (
                SELECT origin FROM {_published} WHERE queue = {queue} AND time < clock_timestamp() - $1 ORDER BY time LIMIT {Forgotten} FOR UPDATE SKIP LOCKED)
            """;
        Register = $"INSERT INTO {_consumers} (queue, host, lease_until) VALUES ({queue}, $1, now() + $2) RETURNING id";
        Renew = $"UPDATE {_consumers} SET lease_until = now() + $2 WHERE id = ANY ($1) RETURNING id";

        int most = options.MaxItemsPerBatch;

        // Finds rows whose consumer is not alive, and not rows of consumers that have ended: a take that was under way when its lease ended may name a
        // consumer that is gone. Compares the consumer by name, because a row that is freed and taken again meanwhile has another one. Goes from holder to
        // holder, so that it does not matter how many rows each has. What a holder had becomes bands of half a batch, or two halves if it was less than that.
        // A band has the number of its first row. Only a suspect that was all that its holder had, so that it ran alone, is counted as a crash.
        Reap = $"""
            WITH RECURSIVE holders(id) AS (
                (SELECT i.consumer FROM {_items} i WHERE i.consumer IS NOT NULL ORDER BY i.consumer LIMIT 1)
                UNION ALL
                SELECT (SELECT i.consumer FROM {_items} i WHERE i.consumer > h.id ORDER BY i.consumer LIMIT 1) FROM holders h WHERE h.id IS NOT NULL),
            ended AS (
                DELETE FROM {_consumers} WHERE id IN (
                    SELECT id FROM {_consumers} WHERE queue = {queue} AND lease_until < now() FOR UPDATE SKIP LOCKED)),
            lost AS MATERIALIZED (
                SELECT f.id, h.id AS holder FROM holders h CROSS JOIN LATERAL (
                    SELECT i.id FROM {_items} i WHERE i.consumer >= h.id AND i.consumer <= h.id ORDER BY i.consumer LIMIT {MostReaped}
                    FOR UPDATE SKIP LOCKED) f
                WHERE h.id NOT IN (SELECT c.id FROM {_consumers} c WHERE c.queue = {queue} AND c.lease_until >= now())),
            counted AS (
                SELECT id, count(*) OVER holder AS held, (row_number() OVER (holder ORDER BY id) - 1) AS place, holder FROM lost
                WINDOW holder AS (PARTITION BY holder)),
            banded AS (SELECT id, held, min(id) OVER (PARTITION BY holder, place / ((least(held, {most}) + 1) / 2)) AS band FROM counted),
            freed AS (
                UPDATE {_items} t SET consumer = NULL, band = b.band{Headless},
                    expired = greatest(1, t.expired + CASE WHEN b.held = 1 THEN 1 ELSE 0 END)
                FROM banded b WHERE t.id = b.id AND t.id = ANY (ARRAY (SELECT id FROM lost)) RETURNING t.id)
            SELECT EXISTS (SELECT FROM freed) OR EXISTS (SELECT FROM {_items} WHERE consumer IS NULL AND expired > 0 AND due <= now())
            """;
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
        string crowded = !_isKeyed ? "false" : $"EXISTS (SELECT FROM {_items} WHERE {Free} ORDER BY due, id OFFSET {front - 1})";
        NextDue = $"""
            SELECT extract(epoch FROM min(due) - now())::float8, {crowded} FROM {_items} WHERE consumer IS NULL AND expired = 0 AND due > now()
            """;

        // Without keys, no consumer waits for an item to be done.
        Acknowledge = _isKeyed
            ? $"WITH gone AS (DELETE FROM {_items} t USING {Deliveries} WHERE {Mine}) {notify}"
            : $"DELETE FROM {_items} t USING {Deliveries} WHERE {Mine}";
        Return = $"WITH freed AS (UPDATE {_items} t SET consumer = NULL{Headless} FROM {Deliveries} WHERE {Mine}) {notify}";
        Redeliver = $"""
            WITH freed AS (
                UPDATE {_items} t SET consumer = NULL, expired = 0, band = NULL, attempt = d.attempt, due = now() + $5{Headless}
                FROM unnest($1, $2, $3, $4) AS d(id, delivery, lease, attempt) WHERE {Mine})
            {notify}
            """;
        Forget = $"WITH freed AS (UPDATE {_items} SET consumer = NULL{Headless} WHERE consumer = $1 AND id <> ALL ($2)) {notify}";
        Release = $"""
            WITH ended AS (DELETE FROM {_consumers} WHERE id = ANY ($1)),
            freed AS (UPDATE {_items} SET consumer = NULL{Headless} WHERE consumer = ANY ($1))
            {notify}
            """;
        Bury = $"""
            WITH gone AS (
                DELETE FROM {_items} t USING unnest($1, $2, $3, $4, $5, $6) AS d(id, delivery, lease, letter, reason, error) WHERE {Mine}
                RETURNING d.letter, d.reason, d.error, t.attempt, t.key, t.headers, t.payload)
            INSERT INTO {_dead} AS dead (queue, id, source, reason, error, attempts, time, key, headers, payload)
            SELECT DISTINCT ON (letter) {queue}, letter, {queue}, reason, error, attempt, now(), key, headers, payload FROM gone
            {OnSameLetter}
            """;
        AddLetters = $"""
            INSERT INTO {_dead} AS dead (queue, id, source, reason, error, attempts, time, key, headers, payload)
            SELECT {queue}, * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
            {OnSameLetter}
            """;
        string item = "id, origin, place, key, attempt, due, consumer IS NOT NULL, headers, payload";
        ListItems = $"SELECT {item} FROM {_items} WHERE id > $1 ORDER BY id LIMIT $2";
        FindItem = $"SELECT {item} FROM {_items} WHERE origin = $1 AND place = $2 ORDER BY id LIMIT 1";
        CancelItems = $"""
            WITH gone AS (DELETE FROM {_items} t USING (SELECT DISTINCT * FROM unnest($1, $2) AS u(origin, place)) g
                WHERE t.origin = g.origin AND t.place = g.place AND t.consumer IS NULL RETURNING 1) {notify}, (SELECT count(*) FROM gone)
            """;
        string letter = "id, source, reason, error, attempts, time, key, headers, payload, number";
        Count = CountAll(queue);
        ListLetters = $"SELECT {letter} FROM {_dead} WHERE queue = {queue} AND number > $1 ORDER BY number LIMIT $2";
        FindLetter = $"SELECT {letter} FROM {_dead} WHERE queue = {queue} AND id = $1";
        RemoveLetters = $"DELETE FROM {_dead} WHERE queue = {queue} AND id = ANY ($1)";

        // An identity is a text, a slash and a number. A dead letter whose identity is another text is published with that text and the number 0.
        Replay = $"""
            WITH gone AS (
                DELETE FROM {_dead} WHERE queue = {queue} AND id = ANY ($1) RETURNING id, key, headers, payload),
            added AS (
                INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
                SELECT coalesce(substring(id FROM '^(.+)/[0-9]{"{1,9}"}$'), id), coalesce(substring(id FROM '^.+/([0-9]{"{1,9}"})$')::integer, 0),
                    key, 1, headers, payload, now()
                FROM gone RETURNING id)
            {notify}, (SELECT count(*) FROM added)
            """;
    }

    public string Settings { get; }

    public string Channel { get; }

    /// <summary>Stores items, and returns the places, from 0, of those that were enqueued before.</summary>
    public string Enqueue { get; }

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

    /// <summary>When the next item falls due, and whether so many wait that a take does not look at all of them.</summary>
    public string NextDue { get; }

    public string Acknowledge { get; }

    public string Return { get; }

    public string Redeliver { get; }

    public string Forget { get; }

    public string Release { get; }

    public string Bury { get; }

    public string AddLetters { get; }

    /// <summary>Counts what waits, what waits for its time, what consumers have, and the dead letters, and how long the next item has been due.</summary>
    public string Count { get; }

    public string ListItems { get; }

    public string FindItem { get; }

    public string CancelItems { get; }

    public string ListLetters { get; }

    public string FindLetter { get; }

    public string RemoveLetters { get; }

    public string Replay { get; }

    // A head is the first item of its key in a batch. A unique index allows one for each key.
    private string Headless => _isKeyed ? ", head = false" : "";

    private static string OnSameLetter => """
        ON CONFLICT (queue, id) DO UPDATE SET source = excluded.source, reason = excluded.reason, error = excluded.error,
            attempts = excluded.attempts, time = excluded.time, key = excluded.key, headers = excluded.headers, payload = excluded.payload
        """;

    // The items of a key in order: nobody has one of them, and none is before it.
    private string FirstOfItsKey(string row) => $"""
        ({row}.key IS NULL OR (({FirstOf("e.id", $"{row}.key", "")}) = {row}.id
            AND ({FirstOf("e.id", $"{row}.key", " AND e.consumer IS NOT NULL")}) IS NULL))
        """;

    // Never "key = ... ORDER BY id": where most rows have the same key, that is planned as a search through all rows in the order of their ids.
    private string FirstOf(string columns, string key, string and) =>
        $"SELECT {columns} FROM {_items} e WHERE e.key >= {key} AND e.key <= {key}{and} ORDER BY e.key, e.id LIMIT 1";

    // Each count is of a partial index, so that neither values nor rows of others are read. The first by time is looked up, and not searched for.
    private string CountAll(string queue)
    {
        string free = "consumer IS NULL AND expired = 0";
        string suspect = "consumer IS NULL AND expired > 0";
        string first = "AND due <= now() ORDER BY due, id LIMIT 1";
        return $"""
            SELECT (SELECT count(*) FROM {_items} WHERE {free} AND due <= now()) + (SELECT count(*) FROM {_items} WHERE {suspect} AND due <= now()),
                (SELECT count(*) FROM {_items} WHERE {free} AND due > now()) + (SELECT count(*) FROM {_items} WHERE {suspect} AND due > now()),
                (SELECT count(*) FROM {_items} WHERE consumer IS NOT NULL),
                coalesce(extract(epoch FROM now() - least(
                    (SELECT due FROM {_items} WHERE {free} {first}), (SELECT due FROM {_items} WHERE {suspect} {first})))::float8, 0),
                (SELECT count(*) FROM {_dead} WHERE queue = {queue})
            """;
    }

    private string TakeAny(int most, string row) => $"""
        WITH picked AS MATERIALIZED (
            SELECT c.id FROM {_items} c WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now()
            ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED)
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id RETURNING {row}
        """;

    // The band of the suspect that was taken the fewest times, so that one which kills processes holds nobody up. Two sources that look at the same moment may
    // share a band. A row that a program of the version before has made suspect has no band: it is one by itself.
    private string TakeBand(int most, string row)
    {
        string inTurn = _isKeyed ? $" AND {FirstOfItsKey("c")}" : "";
        return $"""
            WITH front AS MATERIALIZED (
                SELECT c.id, c.band, c.expired FROM {_items} c WHERE {Suspect("c")}{inTurn}
                ORDER BY c.expired, c.delivery, c.id LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
            others AS MATERIALIZED (
                SELECT c.id FROM {_items} c JOIN front f ON c.band = f.band AND c.expired = f.expired AND c.id <> f.id WHERE {Suspect("c")}{inTurn}
                ORDER BY c.id LIMIT {most - 1} FOR UPDATE OF c SKIP LOCKED),
            picked AS (SELECT id FROM front UNION ALL SELECT id FROM others)
            UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1{(_isKeyed ? ", head = t.key IS NOT NULL" : "")}
            FROM picked WHERE t.id = picked.id RETURNING {row}
            """;
    }

    private static string Suspect(string row) => $"{row}.consumer IS NULL AND {row}.expired > 0 AND {row}.due <= now()";

    // A row for each origin says which of its items were published before. The transaction that inserts the row first makes others wait until it commits or
    // rolls back. What they find then, and not what they saw before, decides which items are new.
    private string EnqueueNew(string queue) => $"""
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number)),
        known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            SELECT {queue}, g.origin, g.places, g.places, clock_timestamp()
            FROM (SELECT origin, range_agg(int8range(place, place, '[]')) AS places FROM given GROUP BY origin ORDER BY origin) g
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
            RETURNING p.origin, p.added),
        decided AS MATERIALIZED (SELECT g.*, k.added @> g.place::bigint AS is_new FROM given g JOIN known k ON k.origin = g.origin),
        added AS (
            INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
            SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
        SELECT (number - 1)::int FROM decided WHERE NOT is_new
        """;

    // The first items of their keys among the rows that are due for longest. It looks at a bounded number of rows, however many of a blocked key lie there.
    // The conditions on the locked row are written so that no index of free rows fits: PostgreSQL can then only look it up by its id.
    private string InFront(int front, int most) => $"""
        SELECT c.id, c.key FROM (
            SELECT f.id FROM (SELECT id, key FROM {_items} WHERE {Free} ORDER BY due, id LIMIT {front}) f WHERE {FirstOfItsKey("f")}) g
        JOIN {_items} c ON c.id = g.id WHERE {StillFree} LIMIT {most} FOR UPDATE OF c SKIP LOCKED
        """;

    private string Named(int most) => $"""
        SELECT c.id, c.key FROM {_items} c WHERE c.id = ANY ($2) AND {StillFree} AND c.due <= now() AND {FirstOfItsKey("c")}
        ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED
        """;

    // Goes from key to key, however many rows each has.
    private string Keys(string where, int most) => $"""
        WITH RECURSIVE walk(key) AS (
            (SELECT i.key FROM {_items} i WHERE {where} ORDER BY i.key LIMIT 1)
            UNION ALL
            SELECT (SELECT i.key FROM {_items} i WHERE i.key > w.key ORDER BY i.key LIMIT 1) FROM walk w WHERE w.key IS NOT NULL),
        keys AS MATERIALIZED (SELECT key FROM walk WHERE key IS NOT NULL LIMIT {most})
        SELECT ARRAY (
                SELECT c.id FROM keys k CROSS JOIN LATERAL ({FirstOf("e.id, e.consumer, e.expired, e.due", "k.key", "")}) c
                WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now()
                UNION ALL (SELECT id FROM {_items} WHERE {Free} AND key IS NULL ORDER BY due, id LIMIT {most})),
            (SELECT max(key) FROM keys), (SELECT count(*) FROM keys)
        """;

    // After the first item of a key, the items that follow it without a gap. They are in one batch, so the host keeps their order.
    private string TakeKeyed(string heads, int most, string row) => $"""
        WITH heads AS MATERIALIZED (
            {heads}),
        picked AS MATERIALIZED (
            SELECT id, key IS NOT NULL AS head FROM heads
            UNION ALL (
                SELECT f.id, false FROM heads h CROSS JOIN LATERAL (
                    SELECT g.id, bool_and(g.consumer IS NULL AND g.expired = 0 AND g.due <= now()) OVER (ORDER BY g.id) AS is_next
                    FROM (
                        SELECT i.id, i.consumer, i.expired, i.due FROM {_items} i
                        WHERE (i.key, i.id) > (h.key, h.id) AND i.key <= h.key ORDER BY i.key, i.id LIMIT {most}) g) f
                WHERE f.is_next LIMIT greatest(0, {most} - (SELECT count(*) FROM heads))))
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1, head = picked.head
        FROM picked WHERE t.id = picked.id AND t.consumer IS NULL RETURNING {row}
        """;
}
