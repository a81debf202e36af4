using NpgsqlTypes;
using Weir.Delivery.Cli.Commands.Cdc.Targets;

namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>The <c>cdc</c> command: the changes of tables in PostgreSQL as lines, to the output, a command or a queue.</summary>
internal static class CdcCommand
{
    // What is read and not done. A target gets more at once if it is slow, and Ctrl-C waits for no more than this.
    private const int MostInFlight = 4096;

    private static readonly TimeSpan s_shortest = TimeSpan.FromMilliseconds(10);

    public static Command Create(WorkCliHost host)
    {
        CdcOptionSet options = new();
        Command command = new("cdc", "Reads changes of tables in PostgreSQL. Prints them, runs a command for them, or publishes them to a queue.");
        options.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            CdcSettings settings = options.Read(parsed, host);
            await using NpgsqlDataSource database = NpgsqlDataSource.Create(settings.Source);
            PostgresCheckpointStore checkpoints = new(database, settings.Schema);
            await using CdcTarget target = options.Target(parsed, host, database);
            FailedChanges failed = new(settings.OnError, options.CommandBehind(parsed, target), host);
            await using PostgresChangeSource changes = Changes(settings, checkpoints, target, failed, host);
            if (settings.IsDrop)
            {
                await checkpoints.SetupAsync(token);
                await changes.DropAsync(token);
                host.Error.WriteLine($"the stream {settings.Slot} is removed");
                return ExitCode.Success;
            }

            if (settings.IsSetup)
            {
                await CdcSetup.RunAsync(database, settings, changes, checkpoints, target, token);
            }

            return await failed.ExplainAsync(() => RunAsync(settings, changes, checkpoints, target, database, host, token));
        });
        return command;
    }

    private static PostgresChangeSource Changes(
        CdcSettings settings, PostgresCheckpointStore checkpoints, CdcTarget target, FailedChanges failed, WorkCliHost host)
    {
        PostgresChangeSourceOptions options = new()
        {
            Order = settings.Order, InitialSnapshot = settings.HasSnapshot, MaxChangesPerBatch = settings.Batch, OnError = settings.OnError,
            DeadLetters = settings.OnError == PostgresChangeErrorMode.DeadLetter ? target.DeadLetters : null, OnFailedChange = failed.Add, OnNotice = host.Say,
        };

        // The end is where the position has passed all of the log, which it does at a heartbeat if the last of the log is not of our tables.
        if (settings.Idle is { } idle && idle < options.HeartbeatInterval)
        {
            options = options with { HeartbeatInterval = idle > s_shortest ? idle : s_shortest };
        }

        try
        {
            return new PostgresChangeSource(settings.Source.ToString(), settings.Slot, settings.Publication, checkpoints, options);
        }
        catch (ArgumentException e)
        {
            string option = e.ParamName == "connectionString" ? "--source or WEIR_SOURCE" : "--slot or --publication";
            throw new BadInputException($"{option} cannot be used: {e.Message}");
        }
    }

    private static async Task<int> RunAsync(
        CdcSettings settings,
        PostgresChangeSource changes,
        PostgresCheckpointStore checkpoints,
        CdcTarget target,
        NpgsqlDataSource database,
        WorkCliHost host,
        CancellationToken cancellationToken)
    {
        TimeProvider clock = host.Clock;
        using ChangeJson json = new();
        IWorkSource<ChangeLine> opened = await changes.OpenSourceAsync(json.Line, cancellationToken);
        IWorkSource<ChangeLine> source = settings.Idle is { } idle
            ? new IdleSource<ChangeLine>(opened, idle, clock, new UnreadLog(database, checkpoints, changes.CheckpointName).IsDoneAsync)
            : opened;
        await using (source)
        {
            await using CdcProgress progress = new(await target.OpenAsync(cancellationToken), database, settings.Slot, host);
            await using DirectRuntime runtime = new();
            WorkHost<ChangeLine> lines = WorkHost.Create(
                source, runtime, static (item, _) => new ValueTask<ChangeLine>(item.Value), progress, Options(settings, target, host));
            using CancellationTokenSource ended = new();
            Task showing = settings.IsQuiet ? Task.CompletedTask : progress.ShowAsync(ended.Token);
            try
            {
                await lines.RunAsync(cancellationToken);
            }
            finally
            {
                await ended.CancelAsync();
                await showing;
                progress.ShowEnd(target.Name);
            }
        }

        return ExitCode.Success;
    }

    private static WorkHostOptions<ChangeLine> Options(CdcSettings settings, CdcTarget target, WorkCliHost host) => new()
    {
        DeadLetters = target.DeadLetters,
        Serializer = new ChangeLineSerializer(),
        MaxItemsInFlight = target.TakesBatches ? 1 : MostInFlight,
        MaxItemsPerCall = MostInFlight,
        GracePeriod = settings.Grace,
        TimeProvider = host.Clock,
        OnFault = failure => CdcOptionSet.Report(host, failure),
    };
}

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
        "The command of --to exec. It gets one change per line, and they are done when its exit code is 0");
    private readonly Option<bool> _shell = new("--shell") { Description = "Run the command by the shell" };
    private readonly TextOption _batch = TextOption.Of("--batch", null, "N", "How many changes are read at once, and given to one command. Default 500");
    private readonly TextOption _attempts = TextOption.Of("--attempts", null, "N", "Attempts of a command before the stream ends with an error. Default 5")
        .Rare();
    private readonly TextOption _delay =
        TextOption.Of("--delay", null, "TIME,TIME,...", "How long to wait before each next attempt. Default 1s,10s,60s").Rare();
    private readonly TextOption _order = TextOption.Of("--order", null, "SCOPE",
        "Which changes have the same key in a queue: key (of the row), relation, transaction, global or none. Default key").Rare();
    private readonly TextOption _onError = TextOption.Of("--on-error", null, "ACTION",
        "What becomes of a change that cannot be read: stop, skip, or dead (a dead letter of the queue). Default stop");
    private readonly TextOption _name = TextOption.Of("--name", null, "NAME", "The queue, and that of dead letters. Default work");
    private readonly Option<bool> _ordered = new("--ordered") { Description = "The queue keeps the order of keys. Every command on this queue needs it" };
    private readonly TextOption _schema = TextOption.Of("--schema", null, "NAME",
        "The schema of the table of positions, and of a queue in PostgreSQL. Default weir").Rare();
    private readonly Option<bool> _setup = new("--setup") { Description = "First create slot, position and queue, where they do not exist yet" };
    private readonly TextOption _tables = TextOption.Of("--tables", null, "NAME,NAME,...",
        "With --setup: create the publication, if it does not exist yet, of these tables");
    private readonly Option<bool> _snapshot = new("--snapshot") { Description = "With --setup: a new stream begins with the rows that exist" };
    private readonly Option<bool> _drop = new("--drop") { Description = "Remove the slot and the position, and do nothing else" };
    private readonly TextOption _grace = TextOption.Of("--grace", null, "TIME", "How long the items that were read may take after Ctrl-C. Default 30s").Rare();
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
            throw new BadInputException("--snapshot and --tables need --setup, which creates the stream.");
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
            throw new BadInputException("--exec and --shell need --to exec, whose command gets the changes.");
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

    /// <summary>The command that continues behind a change that cannot be read.</summary>
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
        OpenedQueue queue = Checked(
            () => WorkEngines.Open(to, new EngineOrder(Name(parsed), parsed.GetValue(_ordered), Schema(parsed)) { OnNotice = host.Say }));
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

/// <summary>The checked options of <c>cdc</c>, but for the target.</summary>
internal sealed record CdcSettings
{
    public required NpgsqlConnectionStringBuilder Source { get; init; }

    public required string Publication { get; init; }

    public required string Slot { get; init; }

    public required string Schema { get; init; }

    public required PostgresChangeOrder Order { get; init; }

    /// <summary>What becomes of a change that cannot be read.</summary>
    public required PostgresChangeErrorMode OnError { get; init; }

    /// <summary>Whether slot, checkpoint and target are created where they are missing.</summary>
    public required bool IsSetup { get; init; }

    /// <summary>The tables of a publication that is missing; empty for none.</summary>
    public required IReadOnlyList<string> Tables { get; init; }

    public required bool HasSnapshot { get; init; }

    /// <summary>Whether the stream is removed.</summary>
    public required bool IsDrop { get; init; }

    /// <summary>How many changes are in a batch at most.</summary>
    public required int Batch { get; init; }

    public required TimeSpan Grace { get; init; }

    /// <summary>When nothing has come for this time, the stream ends; <see langword="null"/> for never.</summary>
    public required TimeSpan? Idle { get; init; }

    public required bool IsQuiet { get; init; }
}

/// <summary>
/// Creates what a stream needs and does not have. The slot comes last, because a server keeps its log for one that nobody reads. A publication that is of no
/// use is removed again: the next set-up, of other tables, would take it.
/// </summary>
internal static class CdcSetup
{
    public static async Task RunAsync(
        NpgsqlDataSource database,
        CdcSettings settings,
        PostgresChangeSource changes,
        PostgresCheckpointStore checkpoints,
        CdcTarget target,
        CancellationToken cancellationToken)
    {
        bool isNew = await CreatePublicationAsync(database, settings.Publication, settings.Tables, cancellationToken);
        try
        {
            await changes.CheckAsync(cancellationToken);
            await target.SetupAsync(cancellationToken);
            await checkpoints.SetupAsync(cancellationToken);
            await changes.SetupAsync(cancellationToken);
        }
        catch when (isNew)
        {
            await using NpgsqlCommand drop = database.CreateCommand($"DROP PUBLICATION IF EXISTS {Quoted(settings.Publication)}");
            await drop.ExecuteNonQueryAsync(CancellationToken.None);
            throw;
        }
    }

    private static string Quoted(string name) => $"\"{name.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";

    private static async Task<bool> CreatePublicationAsync(
        NpgsqlDataSource database, string publication, IReadOnlyList<string> tables, CancellationToken cancellationToken)
    {
        if (tables.Count == 0 || await ScalarAsync("SELECT pubname::text FROM pg_catalog.pg_publication WHERE pubname = $1", publication) is not null)
        {
            return false;
        }

        List<string> found = [];
        foreach (string table in tables)
        {
            // As the server would write it, whatever the name has in it.
            found.Add(await ScalarAsync("SELECT to_regclass($1)::text", table)
                ?? throw new BadInputException($"--tables: the database has no table '{table}'."));
        }

        await using (NpgsqlCommand create = database.CreateCommand($"CREATE PUBLICATION {Quoted(publication)} FOR TABLE {string.Join(", ", found)}"))
        {
            await create.ExecuteNonQueryAsync(cancellationToken);
        }

        return true;

        async ValueTask<string?> ScalarAsync(string query, string text)
        {
            await using NpgsqlCommand command = database.CreateCommand(query);
            command.Parameters.Add(new NpgsqlParameter<string> { TypedValue = text });
            return await command.ExecuteScalarAsync(cancellationToken) as string;
        }
    }
}

/// <summary>
/// The part of a server's log that the position has not passed. A server that is busy, that copies a table or reads a long transaction sends nothing for a
/// while, and is not at its end.
/// </summary>
internal sealed class UnreadLog(NpgsqlDataSource database, PostgresCheckpointStore checkpoints, string name)
{
    // Of a primary: a stream refuses a standby.
    private const string End = "SELECT pg_current_wal_flush_lsn()";

    private NpgsqlLogSequenceNumber? _end;

    /// <summary>Asks whether everything is done that was there at the first look.</summary>
    public async ValueTask<bool> IsDoneAsync(bool isFirstLook, CancellationToken cancellationToken)
    {
        try
        {
            if (isFirstLook || _end is null)
            {
                await using NpgsqlCommand command = database.CreateCommand(End);
                _end = (NpgsqlLogSequenceNumber?)await command.ExecuteScalarAsync(cancellationToken);
            }

            // A snapshot that is not complete does not belong in the log, and a part of a transaction is behind the plus.
            string? position = await checkpoints.LoadAsync(name, cancellationToken);
            return NpgsqlLogSequenceNumber.TryParse(position?.Split('+')[0] ?? "", out NpgsqlLogSequenceNumber done) && done >= _end;
        }
        catch (PostgresException)
        {
            // A server that answers, and does not tell. Then only the silence counts.
            return true;
        }
        catch (NpgsqlException)
        {
            // It is away. The stream hears of that, too.
            return false;
        }
    }
}

/// <summary>Counts what the target has taken, and shows it now and then, with how far the slot is behind the server's log.</summary>
internal sealed class CdcProgress(IWorkSink<ChangeLine> inner, NpgsqlDataSource database, string slot, WorkCliHost host) : IWorkSink<ChangeLine>
{
    private readonly long _started = host.Clock.GetTimestamp();
    private long _changes;
    private long _delay;

    /// <summary>How many changes are done.</summary>
    public long Changes => Volatile.Read(ref _changes);

    /// <summary>Where everything is done up to.</summary>
    public string? Position { get; private set; }

    private double Seconds => host.Clock.GetElapsedTime(_started).TotalSeconds;

    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken)
    {
        await inner.WriteAsync(items, position, cancellationToken);
        Position = position ?? Position;
        if (items.Count > 0)
        {
            Interlocked.Exchange(ref _delay, (host.Clock.GetUtcNow() - items[^1].Value.Time).Ticks);
            Interlocked.Add(ref _changes, items.Count);
        }
    }

    public ValueTask DisposeAsync() => inner.DisposeAsync();

    /// <summary>Shows progress until it is stopped.</summary>
    public async Task ShowAsync(CancellationToken stop)
    {
        using PeriodicTimer timer = new(host.Progress, host.Clock);
        long before = 0;
        double since = 0;
        try
        {
            while (await timer.WaitForNextTickAsync(stop))
            {
                long now = Changes;
                double seconds = Seconds;
                string rate = Numbers.Grouped((long)((now - before) / Math.Max(seconds - since, 0.001)));
                (before, since) = (now, seconds);
                host.Error.WriteLine($"{Numbers.Grouped(now)} changes, {rate}/s; {await BehindAsync(stop)}");
            }
        }
        catch (OperationCanceledException)
        {
            // The stream has ended.
        }
    }

    /// <summary>Shows what it came to.</summary>
    public void ShowEnd(string target) => host.Error.WriteLine(
        $"{Numbers.Grouped(Changes)} changes to {target}, up to {Position ?? "the same position as before"}; "
        + string.Create(CultureInfo.InvariantCulture, $"{Seconds:0.0} s"));

    private async ValueTask<string> BehindAsync(CancellationToken stop)
    {
        string delay = Changes == 0
            ? ""
            : string.Create(CultureInfo.InvariantCulture, $", the last one {new TimeSpan(Volatile.Read(ref _delay)).TotalSeconds:0.0} s after its commit");
        try
        {
            await using NpgsqlCommand command = database.CreateCommand(
                "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint FROM pg_catalog.pg_replication_slots WHERE slot_name = $1");
            command.Parameters.Add(new NpgsqlParameter<string> { TypedValue = slot });
            return await command.ExecuteScalarAsync(stop) is long bytes
                ? $"{Numbers.Bytes(Math.Max(bytes, 0))} behind{delay}"
                : $"the slot is not there{delay}";
        }
        catch (NpgsqlException)
        {
            return $"the server does not say how far behind{delay}";
        }
    }
}

/// <summary>Says of each change that cannot be read what became of it, and of one that ends the stream which command continues behind it.</summary>
internal sealed class FailedChanges(PostgresChangeErrorMode mode, string behind, WorkCliHost host)
{
    private volatile string? _stoppedBy;

    /// <summary>Hears of a change that cannot be read.</summary>
    public void Add(DeadLetter letter)
    {
        string line = letter.Error.Split('\n')[0];
        if (mode == PostgresChangeErrorMode.Stop)
        {
            _stoppedBy = line;
            return;
        }

        host.Say(Credentials.Hide($"{line} It is {(mode == PostgresChangeErrorMode.Skip ? "skipped" : "a dead letter")}."));
    }

    /// <summary>Runs the stream.</summary>
    /// <exception cref="WorkSetupException">A change has ended it.</exception>
    public async Task<int> ExplainAsync(Func<Task<int>> run)
    {
        try
        {
            return await run();
        }
        catch (WorkSetupException e) when (_stoppedBy is { } line)
        {
            throw new WorkSetupException($"{line} The stream stops before it, and nothing is lost. To keep it as a dead letter and continue: {behind}", e);
        }
    }
}
