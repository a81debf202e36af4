using System.Runtime.CompilerServices;

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
        return WorkOptionSet.Over(host, "cancel", "Removes items that no worker has from a queue.", [ids], async (parsed, opened, isJson, token) =>
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

    private static IQueuedItems Items(OpenedQueue opened) => opened.Queue.QueuedItems ?? throw new BadInputException(
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

/// <summary>Items from lines of a file or of the input: one item a line, without empty lines.</summary>
internal sealed class LineItems
{
    private const int MostInAWrite = 256;
    private const string Input = "-";

    private readonly TextOption _separator = TextOption.Of("--key-separator", null, "TEXT",
        "What separates the key of an item from its value; its first occurrence in the line counts. Default: items have no key");
    private readonly TextOption _origin = TextOption.Of("--origin", null, "TEXT",
        "The identity of all items together, such as the name of the file. Whoever gets an item twice recognises it. Default: a new one");

    public void AddTo(Command command) => command.AddAll(_separator, _origin);

    /// <summary>Publishes the lines.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="file">The file; a minus sign for the input.</param>
    /// <param name="host">The host of the command.</param>
    /// <param name="write">Publishes some items.</param>
    /// <param name="cancellationToken">Stops reading.</param>
    public async Task PublishAsync(
        ParseResult parsed,
        OptionValue file,
        WorkCliHost host,
        Func<IReadOnlyList<WorkItem<string>>, CancellationToken, ValueTask> write,
        CancellationToken cancellationToken)
    {
        string? separator = _separator.Find(parsed)?.NotEmpty("a text such as ':'");
        string origin = _origin.Find(parsed)?.NotEmpty("a text") ?? Guid.CreateVersion7().ToString("N");
        List<WorkItem<string>> items = [];
        int count = 0;
        using TextReader? opened = file.Text == Input ? null : Open(file);
        await foreach (string line in LinesAsync(opened ?? host.In, cancellationToken))
        {
            int at = separator is null ? -1 : line.IndexOf(separator, StringComparison.Ordinal);
            items.Add(at < 0
                ? new WorkItem<string>(new WorkId(origin, count++), line)
                : new WorkItem<string>(new WorkId(origin, count++), line[(at + separator!.Length)..], line[..at]));
            if (items.Count == MostInAWrite)
            {
                await WriteAsync();
            }
        }

        await WriteAsync();

        async ValueTask WriteAsync()
        {
            if (items.Count > 0)
            {
                await write([.. items], cancellationToken);
                items.Clear();
            }
        }
    }

    private static StreamReader Open(OptionValue file)
    {
        try
        {
            return new StreamReader(file.NotEmpty("a file, or - for the input"));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw file.Bad($"a file that can be read, or - for the input ({e.Message.TrimEnd('.')})");
        }
    }

    private static async IAsyncEnumerable<string> LinesAsync(TextReader reader, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        while (await reader.ReadLineAsync(cancellationToken).AsTask().WaitAsync(cancellationToken) is { } line)
        {
            if (line.Length > 0)
            {
                yield return line;
            }
        }
    }
}
