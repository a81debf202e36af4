using System.CommandLine.Help;

namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The <c>dead</c> commands: list, show and replay the items that could not be processed.</summary>
internal static class DeadCommands
{
    private const int MostReplayedAtOnce = 500;

    public static Command Create(WorkCliHost host)
    {
        Command command = new("dead", "Lists, shows and replays what failed.") { List(host), Show(host), Replay(host) };
        command.SetAction(static parsed => new HelpAction().Invoke(parsed));
        return command;
    }

    private static Command List(WorkCliHost host)
    {
        TextOption limit = TextOption.Of("--limit", null, "N", "How many at most. Default 100");
        return WorkOptionSet.Over(host, "list", "Lists the dead letters, the oldest first.", [limit], (parsed, opened, isJson, token) => WorkOutput.ListAsync(
            host,
            isJson,
            opened.Queue.DeadLetters.ListAsync(limit.Find(parsed)?.WholeNumber(1, int.MaxValue) ?? 100, token),
            Json,
            $"the queue {opened.Queue.Name} has no dead letters",
            "Dead letters",
            ("id", static l => l.Id),
            ("time", static l => WorkOutput.Time(l.Time)),
            ("reason", static l => $"{l.Reason}"),
            ("attempts", static l => l.Attempts.ToString(CultureInfo.InvariantCulture)),
            ("key", static l => l.Key),
            ("error", LetterText.Message)));
    }

    private static Command Show(WorkCliHost host)
    {
        Argument<string> id = new("ID") { Description = "The identity of the item" };
        return WorkOptionSet.Over(host, "show", "Shows a dead letter with its error and its value.", [id], async (parsed, opened, isJson, token) =>
        {
            string wanted = parsed.GetRequiredValue(id);
            DeadLetter letter = await opened.Queue.DeadLetters.FindAsync(wanted, token)
                ?? throw new BadInputException($"There is no dead letter '{wanted}' in the queue {opened.Queue.Name}: 'weir-work dead list' shows them.");
            WorkOutput.WriteLine(host, isJson ? Json(letter) : $"""
                id        {letter.Id}
                reason    {letter.Reason}
                attempts  {letter.Attempts.ToString(CultureInfo.InvariantCulture)}
                time      {WorkOutput.Time(letter.Time)}
                key       {letter.Key ?? "none"}
                headers   {WorkOutput.Headers(letter.Headers)}
                value     {Encoding.UTF8.GetString(letter.Payload.Span)}

                {letter.Error}
                """);
        });
    }

    private static Command Replay(WorkCliHost host)
    {
        WorkOptionSet work = new();
        Argument<string[]> ids = new("ID") { Description = "The identities of the items", Arity = ArgumentArity.ZeroOrMore };
        Option<bool> all = new("--all") { Description = "Replay all dead letters" };
        Command command = new("replay", "Publishes items again, and removes their dead letters.") { ids, all };
        work.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            string[] wanted = [.. (parsed.GetValue(ids) ?? []).Distinct(StringComparer.Ordinal)];
            if (wanted.Length > 0 == parsed.GetValue(all))
            {
                throw new BadInputException("Say which items to replay: their identities, or --all.");
            }

            await using OpenedQueue opened = work.Open(parsed, host);
            int replayed = wanted.Length > 0
                ? await opened.Queue.DeadLetters.ReplayAsync(wanted, token)
                : await ReplayAllAsync(opened.Queue.DeadLetters, token);
            WorkOutput.Write(
                host,
                work.IsJson(parsed),
                $"{replayed.ToString(CultureInfo.InvariantCulture)} items replayed",
                ("queue", opened.Queue.Name),
                ("replayed", replayed));
            return replayed >= wanted.Length ? ExitCode.Success : throw new BadInputException(
                $"Only {replayed} of {wanted.Length} items were dead letters of the queue {opened.Queue.Name}: 'weir-work dead list' shows them.");
        });
        return command;
    }

    // An item that fails again meanwhile has a new letter, which is not replayed once more.
    private static async Task<int> ReplayAllAsync(IDeadLetters dead, CancellationToken cancellationToken)
    {
        List<string> ids = [];
        await foreach (DeadLetter letter in dead.ListAsync(int.MaxValue, cancellationToken))
        {
            ids.Add(letter.Id);
        }

        int replayed = 0;
        foreach (string[] some in ids.Chunk(MostReplayedAtOnce))
        {
            replayed += await dead.ReplayAsync(some, cancellationToken);
        }

        return replayed;
    }

    private static string Json(DeadLetter letter) => WorkOutput.Json(
        ("id", letter.Id),
        ("reason", $"{letter.Reason}"),
        ("attempts", letter.Attempts),
        ("time", letter.Time.UtcDateTime.ToString("O", CultureInfo.InvariantCulture)),
        ("key", letter.Key),
        ("headers", WorkOutput.JsonHeaders(letter.Headers)),
        ("value", Encoding.UTF8.GetString(letter.Payload.Span)),
        ("error", letter.Error));
}
