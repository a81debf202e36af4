namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The commands that look at the items in a queue, and cancel some.</summary>
internal static class ItemCommands
{
    public static Command List(WorkCliHost host)
    {
        TextOption limit = TextOption.Of("--limit", null, "N", "How many at most. Default 100");
        return WorkOptionSet.Over(host, "list", "Lists the items in a queue, the oldest first.", [limit], (parsed, opened, json, token) => WorkOutput.ListAsync(
            host,
            json,
            Items(opened).ListAsync(limit.Find(parsed)?.WholeNumber(1, int.MaxValue) ?? 100, token),
            Json,
            $"the queue {opened.Queue.Name} is empty",
            "Items",
            ("id", static i => i.Id),
            ("state", State),
            ("attempt", static i => i.Attempt.ToString(CultureInfo.InvariantCulture)),
            ("due", static i => WorkOutput.Time(i.Due)),
            ("key", static i => i.Key),
            ("bytes", static i => i.Payload.Length.ToString(CultureInfo.InvariantCulture))));
    }

    public static Command Find(WorkCliHost host)
    {
        Argument<string> id = new("ID") { Description = "The identity of the item" };
        return WorkOptionSet.Over(host, "find", "Shows an item in a queue with its value.", [id], async (parsed, opened, isJson, token) =>
        {
            string wanted = parsed.GetRequiredValue(id);
            QueuedItem item = await Items(opened).FindAsync(Parse(wanted), token) ?? throw new BadInputException(
                $"There is no item '{wanted}' in the queue {opened.Queue.Name}: it is done, was never published, or is a dead letter.");
            WorkOutput.WriteLine(host, isJson ? Json(item) : $"""
                id        {item.Id}
                state     {State(item)}
                attempt   {item.Attempt.ToString(CultureInfo.InvariantCulture)}
                due       {WorkOutput.Time(item.Due)}
                key       {item.Key ?? "none"}
                headers   {WorkOutput.Headers(item.Headers)}
                value     {Encoding.UTF8.GetString(item.Payload.Span)}
                """);
        });
    }

    public static Command Cancel(WorkCliHost host)
    {
        Argument<string[]> ids = new("ID") { Description = "The identities of the items", Arity = ArgumentArity.OneOrMore };
        return WorkOptionSet.Over(host, "cancel", "Removes items from a queue that no worker has.", [ids], async (parsed, opened, isJson, token) =>
        {
            WorkId[] wanted = [.. parsed.GetRequiredValue(ids).Distinct().Select(Parse)];
            int cancelled = await Items(opened).CancelAsync(wanted, token);
            WorkOutput.Write(
                host,
                isJson,
                $"{cancelled.ToString(CultureInfo.InvariantCulture)} items cancelled",
                ("queue", opened.Queue.Name),
                ("cancelled", cancelled));
            if (cancelled < wanted.Length)
            {
                throw new BadInputException(
                    $"Only {cancelled} of {wanted.Length} items were cancelled: the others are not in the queue {opened.Queue.Name}, or a worker has them.");
            }
        });
    }

    private static IQueuedItems Items(WorkEngines.OpenedQueue opened) => opened.Queue.QueuedItems ?? throw new BadInputException(
        "This is not possible with this engine: RabbitMQ cannot show, find or remove a message without taking those before it. "
        + "PostgreSQL can; and 'weir-work dead list' shows dead letters of both.");

    private static WorkId Parse(string id) => WorkId.TryParse(id, out WorkId parsed)
        ? parsed
        : throw new BadInputException($"ID must be the identity of an item, such as 0199f3a2/17, and not '{id}': 'weir-work list' shows them.");

    private static string State(QueuedItem item) => item.IsInFlight ? "in flight" : "queued";

    private static string Json(QueuedItem item) => WorkOutput.Json(
        ("id", item.Id),
        ("inFlight", item.IsInFlight),
        ("attempt", item.Attempt),
        ("due", item.Due.UtcDateTime.ToString("O", CultureInfo.InvariantCulture)),
        ("key", item.Key),
        ("headers", WorkOutput.JsonHeaders(item.Headers)),
        ("value", Encoding.UTF8.GetString(item.Payload.Span)));
}
