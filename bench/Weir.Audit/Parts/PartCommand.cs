namespace Weir.Audit.Parts;

/// <summary>The command of a participant's process. It reads its order from its input, and stops when that ends. Not for users.</summary>
internal static class PartCommand
{
    public const string Name = "part";
    public const string Publishes = "publisher";
    public const string Works = "worker";
    public const string Reads = "reader";

    /// <summary>The line that a participant prints when it is at work.</summary>
    public const string Ready = "ready";

    public static Command Create()
    {
        Argument<string> kind = new("kind");
        Command command = new(Name, "Takes part in an audit of another process of this program.") { kind };
        command.Hidden = true;

        // Not at a signal: Ctrl-C at a terminal goes to all processes at once, and the audit itself decides who stops when.
        command.SetAction((parsed, _) => RunAsync(parsed.GetRequiredValue(kind), Console.In));
        return command;
    }

    private static async Task<int> RunAsync(string kind, TextReader input)
    {
        PartOrder order = Parse(await input.ReadLineAsync(CancellationToken.None));
        AuditScenario scenario = AuditScenario.All[order.Scenario];
        using PartWords words = PartWords.Read(input);
        await using (NpgsqlDataSource database = NpgsqlDataSource.Create(order.Database))
        {
            await using IAuditEngine engine = AuditEngines.All[order.Engine](new EngineSetup(database, order.Name, order.Broker, scenario, order.Fault));
            try
            {
                await (kind switch
                {
                    Publishes => new Publisher(database, order.FromTable ? null : engine, scenario, order.Together).RunAsync(words),
                    Reads => ReadAsync(database, engine, scenario, order.Database, words.Stop),
                    Works => new Worker(database, engine, scenario, order.Fault).RunAsync(words.Stop),
                    _ => throw new BadInputException($"There is no participant called '{kind}'."),
                });
            }
            catch (OperationCanceledException) when (words.Stop.IsCancellationRequested)
            {
                // Asked to stop.
            }
        }

        return ExitCode.Success;
    }

    private static async Task ReadAsync(
        NpgsqlDataSource database, IAuditEngine engine, AuditScenario scenario, string connection, CancellationToken stop)
    {
        await using ChangeStream stream = new(database, connection);
        await Reader.RunAsync(stream, engine, scenario, stop);
    }

    private static PartOrder Parse(string? order)
    {
        try
        {
            return JsonSerializer.Deserialize<PartOrder>(order ?? "", ResultJson.Line) ?? throw new JsonException();
        }
        catch (JsonException)
        {
            // Without its text, which has a password in it.
            throw new BadInputException("This command is only for the program itself, which starts it with an order that it can read.");
        }
    }
}
