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
