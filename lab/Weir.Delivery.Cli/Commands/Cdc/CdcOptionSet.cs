using Weir.Delivery.Cli.Commands.Cdc.Targets;

namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>The options of <c>cdc</c>.</summary>
internal sealed class CdcOptionSet
{
    private const string ToOutput = "stdout";
    private const string ToCommand = "exec";

    // Without them, a slot keeps the log of the server on the disk.
    private static readonly TimeSpan Longest = TimeSpan.FromDays(30);

    private static readonly Dictionary<string, PostgresChangeOrder> Orders = new(StringComparer.OrdinalIgnoreCase)
    {
        ["key"] = PostgresChangeOrder.Key,
        ["relation"] = PostgresChangeOrder.Relation,
        ["transaction"] = PostgresChangeOrder.Transaction,
        ["global"] = PostgresChangeOrder.Global,
        ["none"] = PostgresChangeOrder.None,
    };

    private static readonly Dictionary<string, PostgresChangeErrorMode> ErrorModes = new(StringComparer.OrdinalIgnoreCase)
    {
        ["stop"] = PostgresChangeErrorMode.Stop,
        ["skip"] = PostgresChangeErrorMode.Skip,
        ["dead"] = PostgresChangeErrorMode.DeadLetter,
    };

    private readonly TextOption _source = TextOption.Of("--source", "WEIR_SOURCE", "ADDRESS",
        "The database: a connection string of Npgsql or postgres://USER@HOST/DATABASE. Use the variable for an address with a password");
    private readonly TextOption _publication = TextOption.Of("--publication", null, "NAME", "The publication, which names the tables");
    private readonly TextOption _slot = TextOption.Of("--slot", null, "NAME", "The replication slot, which is the name of the stream");
    private readonly TextOption _to = TextOption.Of("--to", "WEIR_TO", "TARGET",
        $"Where the changes go: stdout, exec, or a queue ({WorkEngines.Forms}). Default stdout");
    private readonly TextOption _exec = TextOption.Of("--exec", null, "'PROG ARGS'",
        "The command of --to exec: it gets a change a line, and they are done when its exit code is 0");
    private readonly Option<bool> _shell = new("--shell") { Description = "The command is one of the shell" };
    private readonly TextOption _batch = TextOption.Of("--batch", null, "N", "Changes that are read, and given to a command, at once. Default 500");
    private readonly TextOption _attempts = TextOption.Of("--attempts", null, "N", "Attempts of a command before the stream ends with an error. Default 5")
        .Rare();
    private readonly TextOption _delay = TextOption.Of("--delay", null, "TIME,TIME,...", "How long each next attempt waits. Default 1s,10s,60s").Rare();
    private readonly TextOption _order = TextOption.Of("--order", null, "SCOPE",
        "Which changes have the same key in a queue: key (of the row), relation, transaction, global or none. Default key").Rare();
    private readonly TextOption _onError = TextOption.Of("--on-error", null, "ACTION",
        "What becomes of a change that cannot be read: stop, skip, or dead (a dead letter of the queue). Default stop");
    private readonly TextOption _name = TextOption.Of("--name", null, "NAME", "The queue, and that of dead letters. Default work");
    private readonly Option<bool> _ordered = new("--ordered") { Description = "The queue keeps the order of keys. Say it in each command over the queue" };
    private readonly TextOption _schema = TextOption.Of("--schema", null, "NAME",
        "The schema of the table of positions, and of a queue in PostgreSQL. Default weir").Rare();
    private readonly Option<bool> _setup = new("--setup") { Description = "First create slot, position and queue, where they do not exist yet" };
    private readonly TextOption _tables = TextOption.Of("--tables", null, "NAME,NAME,...",
        "With --setup: create the publication, if it does not exist yet, of these tables");
    private readonly Option<bool> _snapshot = new("--snapshot") { Description = "With --setup: a new stream begins with the rows that are there" };
    private readonly Option<bool> _drop = new("--drop") { Description = "Remove the slot and the position, and do nothing else" };
    private readonly TextOption _grace = TextOption.Of("--grace", null, "TIME", "Time that what was read has after Ctrl-C. Default 30s").Rare();
    private readonly TextOption _idle = TextOption.Of(
        "--idle", null, "TIME", "End when all is done and nothing comes for this time. Default: run until Ctrl-C");
    private readonly Option<bool> _quiet = new("--quiet") { Description = "No progress", Hidden = true };

    public void AddTo(Command command) => command.AddAll(
        _source, _publication, _slot, _to, _exec, _shell, _batch, _attempts, _delay, _order, _onError, _name, _ordered, _schema, _setup, _tables, _snapshot,
        _drop, _grace, _idle, _quiet);

    /// <summary>Reads and checks all of them but the target.</summary>
    public CdcSettings Read(ParseResult parsed, WorkCliHost host)
    {
        bool isSetup = parsed.GetValue(_setup);
        if (!isSetup && (parsed.GetValue(_snapshot) || Find(parsed, _tables) is not null))
        {
            throw new BadInputException("--snapshot and --tables say how to set up a stream: use them with --setup.");
        }

        OptionValue source = _source.Find(parsed, host.Variable)
            ?? throw new BadInputException("--source or WEIR_SOURCE must say where the database is, such as Host=HOST;Username=USER;Database=DATABASE.");
        return new CdcSettings
        {
            Source = PostgresEngine.Connection(source),
            Publication = Find(parsed, _publication)?.NotEmpty("the name of a publication") ?? throw new BadInputException(
                "--publication must name a publication of the database; with --setup and --tables it is created."),
            Slot = Find(parsed, _slot)?.NotEmpty("the name of a slot") ?? throw new BadInputException(
                "--slot must name the replication slot of the stream; with --setup it is created."),
            Schema = Schema(parsed) ?? "weir",
            Order = Find(parsed, _order)?.OneOf(Orders) ?? PostgresChangeOrder.Key,
            OnError = OnError(parsed),
            IsSetup = isSetup,
            Tables = Find(parsed, _tables)?.NotEmpty("names of tables between commas").Split(',', StringSplitOptions.TrimEntries) ?? [],
            HasSnapshot = parsed.GetValue(_snapshot),
            IsDrop = parsed.GetValue(_drop),
            Batch = Batch(parsed),
            Grace = Find(parsed, _grace)?.Time(TimeSpan.Zero, Longest, "30s") ?? TimeSpan.FromSeconds(30),
            Idle = Find(parsed, _idle)?.Time(TimeSpan.FromMilliseconds(1), Longest, "5s"),
            IsQuiet = parsed.GetValue(_quiet),
        };
    }

    /// <summary>Makes the target. It asks nothing of a server.</summary>
    /// <param name="parsed">The options.</param>
    /// <param name="host">The host of the command.</param>
    /// <param name="source">The database of the changes, which has the dead letters if the target is no queue.</param>
    public CdcTarget Target(ParseResult parsed, WorkCliHost host, NpgsqlDataSource source)
    {
        OptionValue? to = _to.Find(parsed, host.Variable);
        OptionValue? exec = Find(parsed, _exec);
        bool isCommand = to?.Text == ToCommand;
        if (isCommand != exec is not null || (!isCommand && parsed.GetValue(_shell)))
        {
            throw new BadInputException("--exec and --shell say which command gets the changes, and belong to --to exec.");
        }

        if (exec is not null)
        {
            return new CdcTarget($"'{exec.Text}'", new CommandLines(
                ItemCommand.Of(exec, parsed.GetValue(_shell), host),
                Batch(parsed),
                Find(parsed, _attempts)?.WholeNumber(1, 1000) ?? 5,
                Find(parsed, _delay) is { } delays
                    ? [.. delays.Text.Split(',').Select(text => new OptionValue(delays.Source, text.Trim()).Time(TimeSpan.Zero, Longest, "1s,10s"))]
                    : [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(60)],
                host.Clock,
                failure => Report(host, failure)), Letters(parsed, source), takesBatches: true);
        }

        return to is null || to.Text == ToOutput
            ? new CdcTarget(ToOutput, new OutputLines(host.Lines ?? new TextLines(host.Out)), Letters(parsed, source))
            : Queue(to, parsed, host);
    }

    /// <summary>Says what failed and is tried again.</summary>
    public static void Report(WorkCliHost host, Exception failure) =>
        host.Say($"{Credentials.LineOf(failure)} (trying again)");

    /// <summary>The command that goes on behind a change that cannot be read.</summary>
    public string CommandBehind(ParseResult parsed, CdcTarget target)
    {
        List<string> words = [.. parsed.Tokens.Skip(1).Select(static t => Word(Credentials.Hide(t.Value)))];
        int given = words.IndexOf(_onError.Name);
        if (given >= 0)
        {
            words.RemoveRange(given, 2);
        }

        // The queue of the dead letters may not be there yet.
        string setup = target.IsQueue || parsed.GetValue(_setup) ? "" : $" {_setup.Name}";
        return $"{CliApp.PathOf(parsed)} {string.Join(' ', words)} {_onError.Name} dead{setup}";
    }

    private static string Word(string text) =>
        text.All(static c => char.IsAsciiLetterOrDigit(c) || "-_./:,@=*".Contains(c, StringComparison.Ordinal)) && text.Length > 0
            ? text
            : $"'{text.Replace("'", "'\\''", StringComparison.Ordinal)}'";

    // None are kept where a change that cannot be read ends the stream, or is left out.
    private IWorkQueue<string> Letters(ParseResult parsed, NpgsqlDataSource source) => OnError(parsed) == PostgresChangeErrorMode.DeadLetter
        ? Checked(() => new PostgresWorkQueue<string>(
            source,
            Name(parsed),
            WorkSerializer.Text,
            new PostgresWorkQueueOptions { KeepKeyOrder = parsed.GetValue(_ordered), Schema = Schema(parsed) ?? "weir" }))
        : new MemoryWorkQueue<string>("cdc", WorkSerializer.Text);

    private CdcTarget Queue(OptionValue to, ParseResult parsed, WorkCliHost host)
    {
        WorkEngines.OpenedQueue queue = Checked(
            () => WorkEngines.Open(to, new WorkEngines.EngineOrder(Name(parsed), parsed.GetValue(_ordered), Schema(parsed)) { OnNotice = host.Say }));
        return queue.IsDurable ? new CdcTarget(queue) : throw new BadInputException(
            $"{to.Source} memory: would lose the changes with this process: use stdout, exec, or another engine.");
    }

    private static T Checked<T>(Func<T> create)
    {
        try
        {
            return create();
        }
        catch (ArgumentException e)
        {
            throw new BadInputException($"--name or --schema cannot be used: {e.Message}");
        }
    }

    private PostgresChangeErrorMode OnError(ParseResult parsed) => Find(parsed, _onError)?.OneOf(ErrorModes) ?? PostgresChangeErrorMode.Stop;

    private string Name(ParseResult parsed) => Find(parsed, _name)?.NotEmpty("the name of a queue") ?? "work";

    private int Batch(ParseResult parsed) => Find(parsed, _batch)?.WholeNumber(1, 10_000) ?? 500;

    private string? Schema(ParseResult parsed) => Find(parsed, _schema)?.NotEmpty("the name of a schema");

    private static OptionValue? Find(ParseResult parsed, TextOption option) => option.Find(parsed);
}
