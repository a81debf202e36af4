namespace Weir.PostgreSql;

/// <content>The statements of dead letters.</content>
internal sealed partial class QueueStatements
{
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
}
