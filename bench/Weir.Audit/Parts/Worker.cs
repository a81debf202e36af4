namespace Weir.Audit.Parts;

/// <summary>The process that applies changes, as users would write it: the effect of each, and the identity of its item, in one transaction.</summary>
internal sealed class Worker(NpgsqlDataSource database, IAuditEngine engine, AuditScenario scenario, SeededFault fault)
{
    private const int Lanes = 4;
    private const int WorkSteps = 8;
    private const int WorkStep = 4;
    private const int OneIsLong = 16;

    private static readonly TimeSpan Blocked = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(20);
    private static readonly TimeSpan Long = TimeSpan.FromSeconds(5);

    // Items with a key are not delivered again with a delay, so it is the retries that outlast a server which is away.
    private static readonly RetryOptions OutlastsServers = new() { MaxRetries = 30, MaxDelay = TimeSpan.FromSeconds(2), IsTransient = static _ => true };

    private readonly PostgresInbox _inbox = AuditTables.Inbox(database);

    public async Task RunAsync(CancellationToken stop)
    {
        await using IWorkSource<string> source = await Opening.RunAsync(token => engine.Queue.OpenSourceAsync(token), stop);
        await Console.Out.WriteLineAsync(PartCommand.Ready);
        await using ConcurrentRuntime runtime = new(Lanes);
        WorkHost<string> host = new(source, runtime, ApplyAsync, Options());
        await host.RunAsync(stop);
    }

    // All others are the defaults: 4,096 items in flight, 12 attempts, 2 crashes. The audit waits for the last item, and not for ten minutes more.
    private WorkHostOptions<string> Options() => new()
    {
        DeadLetters = engine.Queue.DeadLetters,
        PartitionBy = scenario.Keys == 0 || fault == SeededFault.NoKeyOrder ? null : static item => item.Key,
        Acknowledge = fault == SeededFault.AckBeforeEffect ? AcknowledgePoint.OnReceipt : AcknowledgePoint.AfterProcessing,
        RedeliveryDelays = [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(10)],
        Retry = scenario.Keys == 0 || scenario.OnlyKills ? null : OutlastsServers,
    };

    private async ValueTask ApplyAsync(WorkItem<string> item, CancellationToken stop)
    {
        long number = long.Parse(item.Value, CultureInfo.InvariantCulture);
        bool isNew = fault == SeededFault.EffectOutsideTransaction
            ? await ApplyInPartsAsync(item, number, stop)
            : await _inbox.ProcessAsync(
                item.Id,
                async (transaction, token) =>
                {
                    await WorkAsync(number, token);
                    await AddEffectAsync(transaction.Connection!, item, number, token);
                },
                stop);
        if (!isNew)
        {
            await using NpgsqlConnection connection = await database.OpenConnectionAsync(stop);
            await AuditTables.ExecuteAsync(connection, "INSERT INTO repeats (number) VALUES ($1)", stop, AuditTables.Parameter(number));
        }
    }

    private async ValueTask<bool> ApplyInPartsAsync(WorkItem<string> item, long number, CancellationToken stop)
    {
        await using NpgsqlConnection connection = await database.OpenConnectionAsync(stop);
        if (await AuditTables.IsKnownAsync(connection, item.Id, stop))
        {
            return false;
        }

        await AddEffectAsync(connection, item, number, stop);
        await WorkAsync(number, stop);
        return await _inbox.ProcessAsync(item.Id, static (_, _) => default, stop);
    }

    private static async ValueTask AddEffectAsync(NpgsqlConnection connection, WorkItem<string> item, long number, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(
            connection,
            "INSERT INTO effects (number, key) VALUES ($1, $2)",
            stop,
            AuditTables.Parameter(number),
            AuditTables.Parameter(item.Key ?? ""));

    private Task WorkAsync(long number, CancellationToken stop)
    {
        if (scenario.Work == WorkKind.Blocking)
        {
            Thread.Sleep(Blocked);
            return Task.CompletedTask;
        }

        if (scenario.Work == WorkKind.BlockingShortly || (scenario.Work == WorkKind.Mixed && number % 2 == 0))
        {
            Thread.Sleep(Short);
            return Task.CompletedTask;
        }

        if (scenario.Work is WorkKind.Awaiting or WorkKind.Mixed)
        {
            return Task.Delay(Short, stop);
        }

        return Task.Delay(
            scenario.Work == WorkKind.Long && number % OneIsLong == 0 ? Long : TimeSpan.FromMilliseconds(number % WorkSteps * WorkStep), stop);
    }
}
