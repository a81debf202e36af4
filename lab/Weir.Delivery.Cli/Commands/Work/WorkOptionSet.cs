namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The options that all commands over a queue share.</summary>
internal sealed class WorkOptionSet
{
    private readonly TextOption _queue = TextOption.Of("--queue", "WEIR_QUEUE", "ADDRESS",
        $"Where the queue is: {WorkEngines.Forms}, or a connection string of Npgsql. Use the variable for an address with a password");
    private readonly TextOption _name = TextOption.Of("--name", null, "NAME", "The name of the queue. Default work");
    private readonly TextOption _schema = TextOption.Of("--schema", null, "NAME", "The schema of its tables, for PostgreSQL. Default weir");
    private readonly Option<bool> _ordered = new("--ordered")
    {
        Description = "Items with the same key are processed in order. Every command on this queue needs it",
    };
    private readonly Option<bool> _json = new("--json") { Description = "Print JSON and nothing else" };

    /// <summary>A command over a queue, which is open while it runs.</summary>
    /// <param name="host">The environment.</param>
    /// <param name="name">The name of the command.</param>
    /// <param name="description">What it does.</param>
    /// <param name="own">Its arguments and options besides those that all share.</param>
    /// <param name="run">Gets the command line, the queue, whether JSON is wanted, and what stops it.</param>
    public static Command Over(
        WorkCliHost host, string name, string description, Symbol[] own, Func<ParseResult, OpenedQueue, bool, CancellationToken, Task> run)
    {
        WorkOptionSet work = new();
        Command command = new(name, description);
        foreach (Argument argument in own.OfType<Argument>())
        {
            command.Add(argument);
        }

        command.AddAll(own.OfType<Option>());
        work.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            await using OpenedQueue opened = work.Open(parsed, host);
            await run(parsed, opened, work.IsJson(parsed), token);
            return ExitCode.Success;
        });
        return command;
    }

    public void AddTo(Command command) => command.AddAll(_queue, _name, _schema, _ordered, _json);

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_json);

    public bool IsOrdered(ParseResult parsed) => parsed.GetValue(_ordered);

    /// <summary>Opens the queue.</summary>
    /// <exception cref="BadInputException">There is no address, or it or a name cannot be used.</exception>
    public OpenedQueue Open(ParseResult parsed, WorkCliHost host, bool mustBeDurable = true)
    {
        OptionValue address = Address(parsed, host);
        string name = _name.Find(parsed)?.NotEmpty("the name of a queue") ?? "work";
        string? schema = _schema.Find(parsed)?.NotEmpty("the name of a schema");
        OpenedQueue opened;
        try
        {
            opened = WorkEngines.Open(address, new EngineOrder(name, IsOrdered(parsed), schema) { OnNotice = host.Say });
        }
        catch (ArgumentException e)
        {
            throw new BadInputException($"--name or --schema cannot be used: {e.Message}");
        }

        return opened.IsDurable || !mustBeDurable ? opened : throw new BadInputException(
            $"{address.Source} memory: holds items only while one command runs, so '{CliApp.PathOf(parsed)}' has nothing to do there: "
            + "use 'weir-work run --queue memory: --input FILE', or another engine.");
    }

    /// <summary>The server of the address, which must be one of PostgreSQL.</summary>
    /// <exception cref="BadInputException">There is no address, it cannot be read, or it is of another engine.</exception>
    public NpgsqlDataSource Server(ParseResult parsed, WorkCliHost host)
    {
        OptionValue address = Address(parsed, host);
        return PostgresEngine.Engine.Recognizes(address.Text)
            ? NpgsqlDataSource.Create(PostgresEngine.Connection(address))
            : throw new BadInputException($"{address.Source} must be {PostgresEngine.Engine.Form}, or a connection string of Npgsql: only PostgreSQL has "
                + "replication slots.");
    }

    private OptionValue Address(ParseResult parsed, WorkCliHost host) => _queue.Find(parsed, host.Variable)
        ?? throw new BadInputException($"--queue or WEIR_QUEUE must say where the queue is: {WorkEngines.Forms}.");
}
