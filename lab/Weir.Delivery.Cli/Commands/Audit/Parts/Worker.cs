namespace Weir.Delivery.Cli.Commands.Audit.Parts;

/// <summary>The process that applies changes: the effect of each, and the identity of its message, in one transaction.</summary>
internal sealed class Worker(NpgsqlDataSource database, IAuditEngine engine, SeededFault fault)
{
    private const int Lanes = 4;
    private const int InFlight = 64;

    // So long that a backlog builds up: whoever is killed has something in hand.
    private const int WorkSteps = 8;
    private const int WorkStep = 4;

    // Here items fail because the database of the effects is away, which lasts longer than attempts of a host with default options do.
    private const int MaxRetries = 1_000_000;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    public async Task RunAsync(CancellationToken stop)
    {
        await using IWorkSource<string> source = await Opening.RunAsync(token => engine.Queue.OpenSourceAsync(token), stop);
        await Console.Out.WriteLineAsync(PartCommand.Ready);
        await using ConcurrentRuntime runtime = new(Lanes);
        WorkHost<string> host = new(source, runtime, ApplyAsync, Options());
        await host.RunAsync(stop);
    }

    private WorkHostOptions<string> Options() => new()
    {
        DeadLetters = engine.Queue.DeadLetters,
        Serializer = WorkSerializer.Text,
        PartitionBy = fault == SeededFault.NoKeyOrder ? null : static item => item.Key,
        Acknowledge = fault == SeededFault.AckBeforeEffect ? AcknowledgePoint.OnReceipt : AcknowledgePoint.AfterProcessing,
        MaxItemsInFlight = InFlight,
        GracePeriod = TimeSpan.FromSeconds(10),
        Retry = new RetryOptions { MaxRetries = MaxRetries, BaseDelay = Pause, MaxDelay = Pause, IsTransient = static _ => true },
    };

    private async ValueTask ApplyAsync(WorkItem<string> item, CancellationToken stop)
    {
        long number = long.Parse(item.Value, CultureInfo.InvariantCulture);
        await using NpgsqlConnection connection = await database.OpenConnectionAsync(stop);
        if (fault == SeededFault.EffectOutsideTransaction)
        {
            await ApplyInPartsAsync(connection, item, number, stop);
            return;
        }

        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop);
        if (await MarkAsync(connection, item.Id, stop))
        {
            await WorkAsync(number, stop);
            await AddEffectAsync(connection, item, number, stop);
        }
        else
        {
            await AddRepeatAsync(connection, number, stop);
        }

        await transaction.CommitAsync(stop);
    }

    private static async ValueTask ApplyInPartsAsync(NpgsqlConnection connection, WorkItem<string> item, long number, CancellationToken stop)
    {
        if (await AuditTables.ScalarAsync<bool>(
            connection, "SELECT EXISTS (SELECT FROM inbox WHERE id = $1)", stop, AuditTables.Parameter(item.Id.ToString())))
        {
            await AddRepeatAsync(connection, number, stop);
            return;
        }

        await AddEffectAsync(connection, item, number, stop);
        await WorkAsync(number, stop);
        await MarkAsync(connection, item.Id, stop);
    }

    // A statement of its own waits for a transaction that has just added the same identity, so two workers never both add it.
    private static async ValueTask<bool> MarkAsync(NpgsqlConnection connection, WorkId id, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(connection, "INSERT INTO inbox VALUES ($1) ON CONFLICT DO NOTHING", stop, AuditTables.Parameter(id.ToString())) > 0;

    private static async ValueTask AddEffectAsync(NpgsqlConnection connection, WorkItem<string> item, long number, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(
            connection,
            "INSERT INTO effects (number, key) VALUES ($1, $2)",
            stop,
            AuditTables.Parameter(number),
            AuditTables.Parameter(item.Key ?? ""));

    private static async ValueTask AddRepeatAsync(NpgsqlConnection connection, long number, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(connection, "INSERT INTO repeats (number) VALUES ($1)", stop, AuditTables.Parameter(number));

    private static Task WorkAsync(long number, CancellationToken stop) => Task.Delay(TimeSpan.FromMilliseconds(number % WorkSteps * WorkStep), stop);
}
