namespace Weir.PostgreSql;

/// <content>The statements that end what consumers had.</content>
internal sealed partial class QueueStatements
{
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
}
