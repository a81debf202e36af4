using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>
/// The statements of a queue. A row of its table is an item; its consumer is the lease that it was taken under, and null while nobody has it.
/// </summary>
internal sealed class QueueStatements
{
    private const string Prefix = "queue_";

    // An item is settled by whoever has this very delivery of it. Whoever took it before has lost it.
    private const string Mine = "t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease";
    private const string Deliveries = "unnest($1, $2, $3) AS d(id, delivery, lease)";

    private readonly string _items;
    private readonly string _consumers;
    private readonly string _dead;
    private readonly string _schema;
    private readonly bool _isKeyed;

    public QueueStatements(string name, PostgresWorkQueueOptions options)
    {
        _schema = SqlName.Quote(options.Schema);
        _items = $"{_schema}.{SqlName.Quote(Prefix + name)}";
        _consumers = $"{_schema}.consumers";
        _dead = $"{_schema}.dead_letters";
        _isKeyed = options.KeepKeyOrder;
        Settings = _isKeyed ? "key order" : "no key order";
        string queue = SqlName.Literal(name);

        // Names of channels are short, and one for all schemas of a database would wake the wrong ones.
        byte[] hash = SHA256.HashData(Encoding.UTF8.GetBytes($"{options.Schema}\0{name}"));
        Channel = $"weir_{Convert.ToHexStringLower(hash.AsSpan(0, 12))}";
        string notify = options.UseNotifications ? $"SELECT pg_notify('{Channel}', '')" : "SELECT 1";
        Enqueue = $"""
            WITH added AS (
                INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
                SELECT origin, place, key, attempt, headers, payload, now() + $7
                FROM unnest($1, $2, $3, $4, $5, $6) AS u(origin, place, key, attempt, headers, payload))
            {notify}
            """;
        Register = $"INSERT INTO {_consumers} (queue, host, lease_until) VALUES ({queue}, $1, now() + $2) RETURNING id";
        Renew = $"UPDATE {_consumers} SET lease_until = now() + $2 WHERE id = ANY ($1) RETURNING id";

        // Not by the consumers that have ended but by those that live: a take that was on its way when its lease ended belongs to nobody. By name, since
        // a row that is freed and taken again meanwhile has a consumer that this statement does not know.
        Reap = $"""
            WITH ended AS (
                DELETE FROM {_consumers} WHERE id IN (
                    SELECT id FROM {_consumers} WHERE queue = {queue} AND lease_until < now() FOR UPDATE SKIP LOCKED)),
            lost AS MATERIALIZED (
                SELECT id FROM {_items} WHERE consumer = ANY (ARRAY (
                    SELECT DISTINCT i.consumer FROM {_items} i WHERE i.consumer IS NOT NULL
                        AND i.consumer NOT IN (SELECT c.id FROM {_consumers} c WHERE c.queue = {queue} AND c.lease_until >= now())))
                FOR UPDATE SKIP LOCKED),
            freed AS (
                UPDATE {_items} t SET consumer = NULL, expired = t.expired + 1{Headless} FROM lost WHERE t.id = lost.id RETURNING t.id)
            SELECT EXISTS (SELECT FROM freed) OR EXISTS (SELECT FROM {_items} WHERE consumer IS NULL AND expired > 0 AND due <= now())
            """;
        int most = options.MaxItemsPerBatch;
        string row = string.Create(
            CultureInfo.InvariantCulture,
            $"""
            t.id, t.delivery, t.origin, t.place, t.key, t.attempt, t.headers,
                CASE WHEN octet_length(t.payload) <= {options.MaxItemBytes} THEN t.payload END, t.expired
            """);
        Take = _isKeyed ? TakeKeyed(most, row) : TakeAny("expired = 0", most, row);
        TakeSuspect = TakeAny("expired > 0", 1, row);
        NextDue = $"SELECT extract(epoch FROM min(due) - now())::float8 FROM {_items} WHERE consumer IS NULL AND expired = 0 AND due > now()";

        // Others wait for the next item of a key, and for nothing else that is done.
        Acknowledge = _isKeyed
            ? $"WITH gone AS (DELETE FROM {_items} t USING {Deliveries} WHERE {Mine}) {notify}"
            : $"DELETE FROM {_items} t USING {Deliveries} WHERE {Mine}";
        Return = $"WITH freed AS (UPDATE {_items} t SET consumer = NULL{Headless} FROM {Deliveries} WHERE {Mine}) {notify}";
        Redeliver = $"""
            WITH freed AS (
                UPDATE {_items} t SET consumer = NULL, expired = 0, attempt = d.attempt, due = now() + $5{Headless}
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
        string letter = "id, source, reason, error, attempts, time, key, headers, payload, number";
        ListLetters = $"SELECT {letter} FROM {_dead} WHERE queue = {queue} AND number > $1 ORDER BY number LIMIT $2";
        FindLetter = $"SELECT {letter} FROM {_dead} WHERE queue = {queue} AND id = $1";
        RemoveLetters = $"DELETE FROM {_dead} WHERE queue = {queue} AND id = ANY ($1)";

        // An identity is a text, a slash and a number. Whoever stored another one gets it back with a number.
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

    public string Enqueue { get; }

    public string Register { get; }

    public string Renew { get; }

    public string Reap { get; }

    public string Take { get; }

    public string TakeSuspect { get; }

    public string NextDue { get; }

    public string Acknowledge { get; }

    public string Return { get; }

    public string Redeliver { get; }

    public string Forget { get; }

    public string Release { get; }

    public string Bury { get; }

    public string AddLetters { get; }

    public string ListLetters { get; }

    public string FindLetter { get; }

    public string RemoveLetters { get; }

    public string Replay { get; }

    // A head is the first item of its key in a batch. An index allows one of a key.
    private string Headless => _isKeyed ? ", head = false" : "";

    private static string OnSameLetter => """
        ON CONFLICT (queue, id) DO UPDATE SET source = excluded.source, reason = excluded.reason, error = excluded.error,
            attempts = excluded.attempts, time = excluded.time, key = excluded.key, headers = excluded.headers, payload = excluded.payload
        """;

    // The items of a key in order: nobody has one of them, and none is before it.
    private string FirstOfItsKey => !_isKeyed ? "" : $"""
         AND (c.key IS NULL OR (
            (SELECT min(e.id) FROM {_items} e WHERE e.key = c.key) = c.id
            AND (SELECT min(e.id) FROM {_items} e WHERE e.key = c.key AND e.consumer IS NOT NULL) IS NULL))
        """;

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
            CREATE TABLE {_items} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), consumer bigint,
                delivery integer NOT NULL DEFAULT 0, attempt integer NOT NULL DEFAULT 1, expired integer NOT NULL DEFAULT 0,
                place integer NOT NULL DEFAULT 0, head boolean NOT NULL DEFAULT false, origin text NOT NULL, key text, headers text, payload bytea NOT NULL)
            WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0,
                autovacuum_vacuum_insert_threshold = 100000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
                autovacuum_vacuum_cost_delay = 0)
            """;
        yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired = 0";
        yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired > 0";
        yield return $"CREATE INDEX ON {_items} (consumer) WHERE consumer IS NOT NULL";
        if (_isKeyed)
        {
            yield return $"CREATE INDEX ON {_items} (key, id) WHERE key IS NOT NULL";
            yield return $"CREATE INDEX ON {_items} (key, id) WHERE key IS NOT NULL AND consumer IS NOT NULL";
            yield return $"CREATE UNIQUE INDEX ON {_items} (key) WHERE head";
        }
    }

    private string TakeAny(string which, int most, string row) => $"""
        WITH picked AS MATERIALIZED (
            SELECT c.id FROM {_items} c WHERE c.consumer IS NULL AND c.{which} AND c.due <= now(){FirstOfItsKey}
            ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED)
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1{(_isKeyed ? ", head = t.key IS NOT NULL" : "")}
        FROM picked WHERE t.id = picked.id RETURNING {row}
        """;

    // Behind the first item of a key, those that follow without a gap: the host has their order, since they are in one batch.
    private string TakeKeyed(int most, string row) => $"""
        WITH heads AS MATERIALIZED (
            SELECT c.id, c.key FROM {_items} c WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now(){FirstOfItsKey}
            ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED),
        picked AS MATERIALIZED (
            SELECT id, key IS NOT NULL AS head FROM heads
            UNION ALL (
                SELECT f.id, false FROM heads h CROSS JOIN LATERAL (
                    SELECT g.id, bool_and(g.consumer IS NULL AND g.expired = 0 AND g.due <= now()) OVER (ORDER BY g.id) AS is_next
                    FROM (SELECT i.id, i.consumer, i.expired, i.due FROM {_items} i WHERE i.key = h.key AND i.id > h.id ORDER BY i.id LIMIT {most}) g) f
                WHERE f.is_next LIMIT greatest(0, {most} - (SELECT count(*) FROM heads))))
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1, head = picked.head
        FROM picked WHERE t.id = picked.id AND t.consumer IS NULL RETURNING {row}
        """;
}
