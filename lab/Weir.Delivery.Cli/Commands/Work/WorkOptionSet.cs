using Weir.Cli.Kit.App;
using Weir.Delivery.Cli.Engines;

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
        Description = "Items with the same key are processed in order. A property of the queue: say it in each command",
    };
    private readonly Option<bool> _json = new("--json") { Description = "Print JSON and nothing else" };

    public void AddTo(Command command)
    {
        foreach (Option option in (Option[])[_queue.Flag, _name.Flag, _schema.Flag, _ordered, _json])
        {
            command.Add(option);
        }
    }

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_json);

    public bool IsOrdered(ParseResult parsed) => parsed.GetValue(_ordered);

    /// <summary>Opens the queue.</summary>
    /// <exception cref="BadInputException">There is no address, or it or a name cannot be used.</exception>
    public WorkEngines.OpenedQueue Open(ParseResult parsed, WorkCliHost host, bool mustBeDurable = true)
    {
        OptionValue address = Address(parsed, host);
        string name = _name.Find(parsed, static _ => null)?.NotEmpty("the name of a queue") ?? "work";
        string? schema = _schema.Find(parsed, static _ => null)?.NotEmpty("the name of a schema");
        WorkEngines.OpenedQueue opened;
        try
        {
            opened = WorkEngines.Open(address, new WorkEngines.EngineOrder(name, IsOrdered(parsed), schema));
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
