using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>
/// The statements of a queue. A row of its table is an item; its consumer is the lease that it was taken under, and null while nobody has it. Items that were
/// enqueued together are one row of another table, a pack, until one of them has to be told from the others.
/// </summary>
internal sealed class QueueStatements
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

    // The statements that make the tables.

    /// <summary>
    /// The statements that create the tables. Rows live for seconds and the table is often empty, so it is vacuumed by count and not by share.
    /// </summary>
    public IEnumerable<string> Tables()
    {
        yield return $"""
            CREATE TABLE IF NOT EXISTS {_consumers} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, host text NOT NULL, lease_until timestamptz NOT NULL)
            WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
            """;
        yield return $"""
            CREATE TABLE IF NOT EXISTS {_dead} (
                number bigint GENERATED ALWAYS AS IDENTITY, queue text NOT NULL, id text NOT NULL, source text NOT NULL, reason text NOT NULL,
                error text NOT NULL, attempts integer NOT NULL, time timestamptz NOT NULL, key text, headers text, payload bytea NOT NULL,
                PRIMARY KEY (queue, id), UNIQUE (queue, number))
            """;
        yield return $"""
            CREATE TABLE IF NOT EXISTS {_published} (
                queue text NOT NULL, origin text NOT NULL, places int8multirange NOT NULL, added int8multirange NOT NULL, time timestamptz NOT NULL,
                PRIMARY KEY (queue, origin))
            WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0)
            """;
        yield return $"CREATE INDEX IF NOT EXISTS published_time ON {_published} (queue, time)";
        yield return $"""
            CREATE TABLE {_items} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), consumer bigint,
                delivery integer NOT NULL DEFAULT 0, attempt integer NOT NULL DEFAULT 1, expired integer NOT NULL DEFAULT 0,
                band bigint, place integer NOT NULL DEFAULT 0, head boolean NOT NULL DEFAULT false, origin text NOT NULL, key text, headers text,
                payload bytea NOT NULL)
            WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0,
                autovacuum_vacuum_insert_threshold = 100000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
                autovacuum_vacuum_cost_delay = 0)
            """;
        yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired = 0";
        yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired > 0";
        yield return $"CREATE INDEX ON {_items} (consumer) WHERE consumer IS NOT NULL";
        yield return $"CREATE INDEX ON {_items} (expired, delivery, id) WHERE consumer IS NULL AND expired > 0";
        yield return $"CREATE INDEX ON {_items} (band, id) WHERE consumer IS NULL AND expired > 0";
        if (_isKeyed)
        {
            yield return $"CREATE INDEX ON {_items} (key, id) WHERE key IS NOT NULL";
            yield return $"CREATE INDEX ON {_items} (key, id) WHERE key IS NOT NULL AND consumer IS NOT NULL";
            yield return $"CREATE UNIQUE INDEX ON {_items} (key) WHERE head";
            yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired = 0 AND key IS NULL";
        }

        foreach (string statement in Packs())
        {
            yield return statement;
        }
    }

    /// <summary>The statements that make tables of a version into those of the next one. Who may use the table of items may use that of packs.</summary>
    public IEnumerable<string> Upgrade(int from) => from != 3 || _isKeyed ? [] :
    [
        .. Packs(),
        $"DO {SqlName.Literal($"""
            DECLARE g record;
            BEGIN
                FOR g IN SELECT a.privilege_type AS may, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS who
                    FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE c.oid = {SqlName.Literal(_items)}::regclass AND a.grantee <> c.relowner
                LOOP
                    EXECUTE 'GRANT ' || g.may || ' ON ' || {SqlName.Literal(_packs)} || ' TO ' || g.who;
                END LOOP;
            END
            """)}",
    ];

    // Numbers below zero, so that those of rows and packs can stand in one list. Values are not compressed: that would take longer than writing them.
    private string[] Packs() => _isKeyed ? [] :
    [
        $"""
        CREATE TABLE {_packs} (
            id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1) PRIMARY KEY, due timestamptz NOT NULL, consumer bigint,
            delivery integer NOT NULL DEFAULT 0, size integer NOT NULL, origins text[] NOT NULL, places integer[] NOT NULL, keys text[] NOT NULL,
            attempts integer[] NOT NULL, headers text[] NOT NULL, payloads bytea[] NOT NULL)
        WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
            toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0)
        """,
        $"ALTER TABLE {_packs} ALTER payloads SET STORAGE EXTERNAL",
        $"CREATE INDEX ON {_packs} (due, id DESC) WHERE consumer IS NULL",
        $"CREATE INDEX ON {_packs} (consumer) WHERE consumer IS NOT NULL",
    ];

    // The statements that enqueue items.

    // A row for each origin says which of its items were published before. The transaction that inserts the row first makes others wait until it commits or
    // rolls back. What they find then, and not what they saw before, decides which items are new.
    private string EnqueueNew() => $"""
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number)),
        known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            SELECT {_queue}, g.origin, g.places, g.places, clock_timestamp()
            FROM (SELECT origin, range_agg(int8range(place, place, '[]')) AS places FROM given GROUP BY origin ORDER BY origin) g
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
            RETURNING p.origin, p.added),
        decided AS MATERIALIZED (SELECT g.*, k.added @> g.place::bigint AS is_new FROM given g JOIN known k ON k.origin = g.origin),
        added AS (
            INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
            SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
        SELECT (number - 1)::int FROM decided WHERE NOT is_new
        """;

    private string EnqueueAll() => $"""
        INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
        SELECT origin, place, key, attempt, headers, payload, now() + $7
        FROM unnest($1, $2, $3, $4, $5, $6) AS u(origin, place, key, attempt, headers, payload)
        """;

    // The same with the places of each origin already together ($8 and $9). Only if some were enqueued before, the items are looked at one by one.
    private string EnqueueNewPack() => $"""
        WITH given AS MATERIALIZED (SELECT origin, places::int8multirange AS places FROM unnest($8, $9) AS u(origin, places)),
        known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            SELECT {_queue}, origin, places, places, clock_timestamp() FROM given ORDER BY origin
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
            RETURNING p.origin, p.added),
        mixed AS MATERIALIZED (SELECT EXISTS (SELECT FROM given g JOIN known k ON k.origin = g.origin WHERE k.added <> g.places) AS yes),
        pack AS ({InsertPack} WHERE NOT (SELECT yes FROM mixed)),
        decided AS MATERIALIZED (
            SELECT i.*, k.added @> i.place::bigint AS is_new
            FROM (SELECT {Nth("$1")} AS origin, u.place, {Nth("$3")} AS key, {Nth("$4")} AS attempt, {Nth("$5")} AS headers, u.payload, u.number
                FROM unnest($2, $6) WITH ORDINALITY AS u(place, payload, number) WHERE (SELECT yes FROM mixed)) i
            JOIN known k ON k.origin = i.origin),
        added AS (
            INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
            SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
        SELECT (number - 1)::int FROM decided WHERE NOT is_new
        """;

    // Of one origin ($1 has it, $8 all places). Whoever has enqueued one of the places is waited for, and then nothing is changed. Most calls end here, so
    // this is short: a statement is planned each time, and planning the long one took three times as long as running it.
    private string Fresh(string rows) => $"""
        WITH known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            VALUES ({_queue}, ($1)[1], $8::int8multirange, $8::int8multirange, clock_timestamp())
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.added, places = p.places + excluded.places, time = excluded.time
            WHERE NOT p.places && excluded.places RETURNING 1)
        {rows}
        """;

    private string EnqueueFreshRows() => Fresh($"""
        INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
        SELECT u.origin, u.place, u.key, u.attempt, u.headers, u.payload, now() + $7
        FROM known CROSS JOIN unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number) ORDER BY u.number
        """);

    private string InsertPack => $"""
        INSERT INTO {_packs} (due, size, origins, places, keys, attempts, headers, payloads)
        SELECT now() + $7, cardinality($2), $1, $2, $3, $4, $5, $6
        """;

    private string ForgetOld() => $"""
        DELETE FROM {_published} WHERE queue = {_queue} AND origin IN (
            SELECT origin FROM {_published} WHERE queue = {_queue} AND time < clock_timestamp() - $1 ORDER BY time LIMIT {Forgotten} FOR UPDATE SKIP LOCKED)
        """;

    // The statements that take rows.

    // How many items a take looks at for each one that it has room for, in all keys together. The more, the more of the room a key gets that has many items
    // beside keys that have few.
    private const int Looks = 4;

    // The items of a key in order: nobody has one of them, and none is before it.
    private string FirstOfItsKey(string row) => $"""
        ({row}.key IS NULL OR (({FirstOf("e.id", $"{row}.key", "")}) = {row}.id
            AND ({FirstOf("e.id", $"{row}.key", " AND e.consumer IS NOT NULL")}) IS NULL))
        """;

    // Never "key = ... ORDER BY id": where most rows have the same key, that is planned as a search through all rows in the order of their ids.
    private string FirstOf(string columns, string key, string and) =>
        $"SELECT {columns} FROM {_items} e WHERE e.key >= {key} AND e.key <= {key}{and} ORDER BY e.key, e.id LIMIT 1";

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

    // After the first item of a key, the items that follow it without a gap. They are in one batch, so the host keeps their order. The keys share the room: if
    // one took it all, its items would run one after the other, and the first items of the other keys, which end with the same batch, would wait for them.
    private string TakeKeyed(string heads, int most, string row) => $"""
        WITH heads AS MATERIALIZED (
            {heads}),
        picked AS MATERIALIZED (
            SELECT id, key IS NOT NULL AS head FROM heads
            UNION ALL (
                SELECT f.id, false FROM heads h CROSS JOIN LATERAL (
                    SELECT g.id, bool_and(g.consumer IS NULL AND g.expired = 0 AND g.due <= now()) OVER (ORDER BY g.id) AS is_next,
                        row_number() OVER (ORDER BY g.id) AS place
                    FROM (
                        SELECT i.id, i.consumer, i.expired, i.due FROM {_items} i
                        WHERE (i.key, i.id) > (h.key, h.id) AND i.key <= h.key ORDER BY i.key, i.id
                        LIMIT (SELECT least({most}, {Looks} * {most} / greatest(1, count(*))) FROM heads)) g) f
                WHERE f.is_next ORDER BY f.place, f.id LIMIT greatest(0, {most} - (SELECT count(*) FROM heads))))
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1, head = picked.head
        FROM picked WHERE t.id = picked.id AND t.consumer IS NULL RETURNING {row}
        """;

    private string NextKeyedDue(int front) => $"""
        SELECT extract(epoch FROM min(due) - now())::float8, EXISTS (SELECT FROM {_items} WHERE {Free} ORDER BY due, id OFFSET {front - 1})
        FROM {_items} WHERE consumer IS NULL AND expired = 0 AND due > now()
        """;

    // The statements that take packs, and make rows of them where an item has to be told from the others.

    /// <summary>How many items have to be enqueued together to become a pack.</summary>
    public const int MinPack = 8;

    // Where consumers take fewer items at once, packs are so short that they cost more than they save.
    private const int WorthPacking = 64;

    // An array whose elements are all alike has one.
    private static string Nth(string array) => $"({array})[least(u.number, cardinality({array}))::int]";

    private static string ItemsOf(string pack) => $"unnest({pack}.places, {pack}.payloads) WITH ORDINALITY AS u(place, payload, number)";

    // The first pack, and those after it that one batch has room for.
    private string TakePackRows(int most, string and)
    {
        string free = string.Create(CultureInfo.InvariantCulture, $"consumer IS NULL AND due <= now() AND size <= {most}");
        return $"""
            WITH front AS MATERIALIZED (
                SELECT c.id, c.due, c.size FROM {_packs} c WHERE {free}{and} ORDER BY c.due, c.id DESC LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
            others AS MATERIALIZED (
                SELECT c.id FROM {_packs} c WHERE c.consumer IS NULL AND c.id IN (
                    SELECT n.id FROM front f CROSS JOIN LATERAL (
                        SELECT p.id, f.size + sum(p.size) OVER (ORDER BY p.due, p.id DESC) AS total FROM (
                            SELECT id, due, size FROM {_packs} WHERE {free} AND due >= f.due AND id <> f.id
                            ORDER BY due, id DESC LIMIT ({most} - f.size) / {MinPack}) p) n
                    WHERE n.total <= {most})
                FOR UPDATE OF c SKIP LOCKED),
            picked AS (SELECT id FROM front UNION ALL SELECT id FROM others)
            UPDATE {_packs} t SET consumer = $1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id
            RETURNING t.id, t.delivery, t.origins, t.places, t.keys, t.attempts, t.headers, t.payloads
            """;
    }

    private string NextItemOrPackDue(int most) => $"""
        SELECT extract(epoch FROM least(
                (SELECT min(due) FROM {_items} WHERE consumer IS NULL AND expired = 0 AND due > now()),
                (SELECT min(due) FROM {_packs} WHERE consumer IS NULL AND due > now())) - now())::float8,
            EXISTS (SELECT FROM {_packs} WHERE consumer IS NULL AND size > {most} AND due <= now())
        """;

    // The band of the rows is the pack, until somebody decides about them as suspects.
    private string Open(string which, string consumer, string others = "") => $"""
        WITH opened AS (DELETE FROM {_packs} WHERE id IN (SELECT id FROM {_packs} WHERE {which}) RETURNING *),
        added AS (
            INSERT INTO {_items} (due, consumer, delivery, band, origin, place, key, attempt, headers, payload)
            SELECT p.due, {consumer}, p.delivery, p.id, {Nth("p.origins")}, u.place, {Nth("p.keys")}, {Nth("p.attempts")}, {Nth("p.headers")}, u.payload
            FROM opened p CROSS JOIN LATERAL {ItemsOf("p")} ORDER BY p.id DESC, u.number RETURNING id)
        SELECT id FROM added{others} ORDER BY id
        """;

    // Under a number that no consumer has: one that renews its lease at this very moment has lost them all the same.
    private string OpenLost() => Open(
        $"""
        consumer IS NOT NULL AND consumer NOT IN (SELECT c.id FROM {_consumers} c WHERE c.queue = {_queue} AND c.lease_until >= now())
        FOR UPDATE SKIP LOCKED
        """,
        "-p.consumer");

    private string OpenHeld() => Open(
        "id = $1 AND delivery = $2 AND consumer = $3 FOR UPDATE", "p.consumer", $" UNION ALL SELECT id FROM {_items} WHERE consumer = $3 AND band = $1");

    private string OpenNamed() => Open(
        """
        consumer IS NULL AND EXISTS (SELECT FROM unnest($1, $2) AS g(origin, place) WHERE g.place = ANY (places) AND g.origin = ANY (origins))
        FOR UPDATE SKIP LOCKED
        """,
        "p.consumer");

    // The statements that end what consumers had.

    // Of one consumer at a time. The rest follows the next time, a quarter of a lease later.
    private const int MostReaped = 20_000;

    // Finds rows whose consumer is not alive, and not rows of consumers that have ended: a take that was under way when its lease ended may name a
    // consumer that is gone. Compares the consumer by name, because a row that is freed and taken again meanwhile has another one. Goes from holder to
    // holder, so that it does not matter how many rows each has. What a holder had becomes bands of half a batch, or two halves if it was less than that.
    // A band has the number of its first row. Only a suspect that was all that its holder had, so that it ran alone, is counted as a crash. What a holder
    // had in packs has its number below zero.
    private string ReapLost(int most) => $"""
        WITH RECURSIVE holders(id) AS (
            (SELECT i.consumer FROM {_items} i WHERE i.consumer IS NOT NULL ORDER BY i.consumer LIMIT 1)
            UNION ALL
            SELECT (SELECT i.consumer FROM {_items} i WHERE i.consumer > h.id ORDER BY i.consumer LIMIT 1) FROM holders h WHERE h.id IS NOT NULL),
        ended AS (
            DELETE FROM {_consumers} WHERE id IN (
                SELECT id FROM {_consumers} WHERE queue = {_queue} AND lease_until < now() FOR UPDATE SKIP LOCKED)),
        lost AS MATERIALIZED (
            SELECT f.id, h.id AS holder FROM holders h CROSS JOIN LATERAL (
                SELECT i.id FROM {_items} i WHERE i.consumer >= h.id AND i.consumer <= h.id ORDER BY i.consumer LIMIT {MostReaped}
                FOR UPDATE SKIP LOCKED) f
            WHERE h.id NOT IN (SELECT c.id FROM {_consumers} c WHERE c.queue = {_queue} AND c.lease_until >= now())),
        counted AS (
            SELECT id, count(*) OVER holder AS held, (row_number() OVER (holder ORDER BY id) - 1) AS place, holder FROM lost
            WINDOW holder AS (PARTITION BY abs(holder))),
        banded AS (SELECT id, held, min(id) OVER (PARTITION BY abs(holder), place / ((least(held, {most}) + 1) / 2)) AS band FROM counted),
        freed AS (
            UPDATE {_items} t SET consumer = NULL, band = b.band{Headless},
                expired = greatest(1, t.expired + CASE WHEN b.held = 1 THEN 1 ELSE 0 END)
            FROM banded b WHERE t.id = b.id AND t.id = ANY (ARRAY (SELECT id FROM lost)) RETURNING t.id)
        SELECT EXISTS (SELECT FROM freed) OR EXISTS (SELECT FROM {_items} WHERE consumer IS NULL AND expired > 0 AND due <= now())
        """;

    private string RedeliverRows() => $"""
        UPDATE {_items} t SET consumer = NULL, expired = 0, band = NULL, attempt = d.attempt, due = now() + $5{Headless}
        FROM unnest($1, $2, $3, $4) AS d(id, delivery, lease, attempt) WHERE {Mine}
        """;

    // Rows of a pack that is held are held.
    private string ForgetTaken() => $"""
        WITH freed AS (
            UPDATE {_items} SET consumer = NULL{Headless} WHERE consumer = $1 AND id <> ALL ($2) AND (band < 0 AND band = ANY ($2)) IS NOT TRUE){
                (_isKeyed ? "" : $", packs AS (UPDATE {_packs} SET consumer = NULL WHERE consumer = $1 AND id <> ALL ($2))")}
        {_notify}
        """;

    private string ReleaseLeases() => $"""
        WITH ended AS (DELETE FROM {_consumers} WHERE id = ANY ($1)),
        freed AS (UPDATE {_items} SET consumer = NULL{Headless} WHERE consumer = ANY ($1)){
            (_isKeyed ? "" : $", packs AS (UPDATE {_packs} SET consumer = NULL WHERE consumer = ANY ($1))")}
        {_notify}
        """;

    // The statements of dead letters.

    private const string LetterColumns = "id, source, reason, error, attempts, time, key, headers, payload, number";

    private static string OnSameLetter => """
        ON CONFLICT (queue, id) DO UPDATE SET source = excluded.source, reason = excluded.reason, error = excluded.error,
            attempts = excluded.attempts, time = excluded.time, key = excluded.key, headers = excluded.headers, payload = excluded.payload
        """;

    private string BuryRows() => $"""
        WITH gone AS (
            DELETE FROM {_items} t USING unnest($1, $2, $3, $4, $5, $6) AS d(id, delivery, lease, letter, reason, error) WHERE {Mine}
            RETURNING d.letter, d.reason, d.error, t.attempt, t.key, t.headers, t.payload)
        INSERT INTO {_dead} AS dead (queue, id, source, reason, error, attempts, time, key, headers, payload)
        SELECT DISTINCT ON (letter) {_queue}, letter, {_queue}, reason, error, attempt, now(), key, headers, payload FROM gone
        {OnSameLetter}
        """;

    private string AddToLetters() => $"""
        INSERT INTO {_dead} AS dead (queue, id, source, reason, error, attempts, time, key, headers, payload)
        SELECT {_queue}, * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
        {OnSameLetter}
        """;

    // An identity is a text, a slash and a number. A dead letter whose identity is another text is published with that text and the number 0.
    private string ReplayLetters() => $"""
        WITH gone AS (
            DELETE FROM {_dead} WHERE queue = {_queue} AND id = ANY ($1) RETURNING id, key, headers, payload),
        named AS (SELECT *, substring(id FROM '^.+/([0-9]{"{1,10}"})$')::bigint <= {int.MaxValue} IS TRUE AS is_name FROM gone)
        INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
        SELECT CASE WHEN is_name THEN substring(id FROM '^(.+)/[0-9]+$') ELSE id END,
            CASE WHEN is_name THEN substring(id FROM '^.+/([0-9]+)$')::integer ELSE 0 END, key, 1, headers, payload, now()
        FROM named
        """;

    // The statements that look at what is in the queue, and cancel it.

    private const string ItemColumns = "id, origin, place, key, attempt, due, consumer IS NOT NULL, headers, payload";

    private static string PackedColumns => $"""
        p.id, {Nth("p.origins")}, u.place, {Nth("p.keys")}, {Nth("p.attempts")}, p.due, p.consumer IS NOT NULL, {Nth("p.headers")}, u.payload
        """;

    private string ListOfPack() => $"""
        SELECT {PackedColumns} FROM (SELECT * FROM {_packs} WHERE id < $1 ORDER BY id DESC LIMIT 1) p CROSS JOIN LATERAL {ItemsOf("p")}
        ORDER BY u.number LIMIT $2
        """;

    private string FindOne()
    {
        string row = $"(SELECT {ItemColumns} FROM {_items} WHERE origin = $1 AND place = $2 ORDER BY id LIMIT 1)";
        return _isKeyed ? row : $"""
            {row}
            UNION ALL
            (SELECT {PackedColumns} FROM (SELECT * FROM {_packs} WHERE $1 = ANY (origins) AND $2 = ANY (places)) p CROSS JOIN LATERAL {ItemsOf("p")}
            WHERE {Nth("p.origins")} = $1 AND u.place = $2 LIMIT 1)
            LIMIT 1
            """;
    }

    private string CancelRows() => $"""
        WITH gone AS (DELETE FROM {_items} t USING (SELECT DISTINCT * FROM unnest($1, $2) AS u(origin, place)) g
            WHERE t.origin = g.origin AND t.place = g.place AND t.consumer IS NULL RETURNING 1) {_notify}, (SELECT count(*) FROM gone)
        """;

    // Each count is of a partial index, so that neither values nor rows of others are read. The first by time is looked up, and not searched for.
    private string CountAll()
    {
        string free = "consumer IS NULL AND expired = 0";
        string suspect = "consumer IS NULL AND expired > 0";
        string first = "AND due <= now() ORDER BY due, id LIMIT 1";
        string packs = _isKeyed ? "(SELECT 0 AS waiting, 0 AS scheduled, 0 AS held, NULL::timestamptz AS due)" : $"""
            (SELECT coalesce(sum(size) FILTER (WHERE consumer IS NULL AND due <= now()), 0)::bigint AS waiting,
                coalesce(sum(size) FILTER (WHERE consumer IS NULL AND due > now()), 0)::bigint AS scheduled,
                coalesce(sum(size) FILTER (WHERE consumer IS NOT NULL), 0)::bigint AS held,
                min(due) FILTER (WHERE consumer IS NULL AND due <= now()) AS due FROM {_packs})
            """;
        return $"""
            SELECT p.waiting + (SELECT count(*) FROM {_items} WHERE {free} AND due <= now())
                    + (SELECT count(*) FROM {_items} WHERE {suspect} AND due <= now()),
                p.scheduled + (SELECT count(*) FROM {_items} WHERE {free} AND due > now())
                    + (SELECT count(*) FROM {_items} WHERE {suspect} AND due > now()),
                p.held + (SELECT count(*) FROM {_items} WHERE consumer IS NOT NULL),
                coalesce(extract(epoch FROM now() - least(p.due,
                    (SELECT due FROM {_items} WHERE {free} {first}), (SELECT due FROM {_items} WHERE {suspect} {first})))::float8, 0),
                (SELECT count(*) FROM {_dead} WHERE queue = {_queue})
            FROM {packs} p
            """;
    }
}
