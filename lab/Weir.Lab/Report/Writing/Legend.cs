namespace Weir.Lab.Report.Writing;

/// <summary>How to read the tables of items, a line each.</summary>
internal static class Legend
{
    /// <summary>The setting that says whether the next message waits for others; an open loop does not.</summary>
    public const string Loop = "loop";

    /// <summary>The value of that setting for messages that are published at their time.</summary>
    public const string Open = "open";

    public static IEnumerable<string> Of(ResultFile result) =>
        [.. result.Arms.Any(static a => a.HasPasses) ? OfPasses(result) : [], .. result.Settings.ContainsKey(Loop) ? OfQueues(result) : []];

    private static IEnumerable<string> OfPasses(ResultFile result)
    {
        string windows = $"{(result.Partial ? "up to " : "")}{result.Settings.GetValueOrDefault("trials", "some")} windows";
        yield return $"items/s       median [min..max] of {windows}, in turns with the others";
        yield return "ns/item       elapsed time; above direct: beyond an item of the direct runtime";
        yield return "B, CPU, GC    of the whole process with the work itself; CPU seconds and collections per million items";
        if (result.Settings.TryGetValue("peer_degree", out string? degree))
        {
            yield return "x             items/s relative to the plain loop, and to Parallel.ForEachAsync";
            yield return $"peers         up to {degree} items in flight; each result is stored in an array in input order, as the runtimes do";
        }
    }

    private static IEnumerable<string> OfQueues(ResultFile result)
    {
        yield return "items=        how many travel together: a message of RabbitMQ, a statement that enqueues or takes in PostgreSQL, a batch in memory";
        yield return "items/s       median [min..max] over the windows; CPU s/M: processor seconds of this process per million items, without the server's";
        yield return result.Settings[Loop] == Open
            ? "latency       open load: from the moment at which an item should have been published to its acknowledgement"
            : "latency       closed load: from the call that publishes to the acknowledgement, so it grows with the items in flight; --rate gives a load";
        yield return result.Settings.ContainsKey("ordered")
            ? "out of order  processed after a later item of the same key, which the order forbids; duplicates are allowed, and lost items are not"
            : "out of order  processed after a later item of the same key, as is allowed without --ordered; duplicates are allowed too, and lost items are not";
    }
}
