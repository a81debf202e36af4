using Weir.Delivery.Cli.Commands.Audit.Engines;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Delivery.Cli.Commands.Audit.Parts;

/// <summary>The process that applies changes: the effect of each, and the identity of its message, in one transaction.</summary>
internal sealed class Worker(NpgsqlDataSource database, IAuditEngine engine, SeededFault fault)
{
    private const int Lanes = 4;
    private const int InFlight = 64;

    // So long that a backlog builds up: whoever is killed has something in hand.
    private const int WorkSteps = 8;
    private const int WorkStep = 4;

    // Here a process dies because it is killed, and never because of an item.
    private const int MaxCrashes = 1_000_000;
    private const int MaxRetries = 1_000_000;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    public async Task RunAsync(CancellationToken stop)
    {
        IWorkSource<string> source = await Opening.RunAsync(token => engine.Queue.OpenSourceAsync(token), stop).ConfigureAwait(false);
        await Console.Out.WriteLineAsync(PartCommand.Ready).ConfigureAwait(false);
        await using (source.ConfigureAwait(false))
        {
            ConcurrentRuntime runtime = new(Lanes);
            await using (runtime.ConfigureAwait(false))
            {
                WorkHost<string> host = new(source, runtime, ApplyAsync, Options());
                await host.RunAsync(stop).ConfigureAwait(false);
            }
        }
    }

    private WorkHostOptions<string> Options() => new()
    {
        DeadLetters = engine.Queue.DeadLetters,
        Serializer = WorkSerializer.Text,
        PartitionBy = fault == SeededFault.NoKeyOrder ? null : static item => item.Key,
        Acknowledge = fault == SeededFault.AckBeforeEffect ? AcknowledgePoint.OnReceipt : AcknowledgePoint.AfterProcessing,
        MaxItemsInFlight = InFlight,
        MaxCrashes = MaxCrashes,
        GracePeriod = TimeSpan.FromSeconds(10),
        Retry = new RetryOptions { MaxRetries = MaxRetries, BaseDelay = Pause, MaxDelay = Pause, IsTransient = static _ => true },
    };

    private async ValueTask ApplyAsync(WorkItem<string> item, CancellationToken stop)
    {
        long number = long.Parse(item.Value, CultureInfo.InvariantCulture);
        NpgsqlConnection connection = await database.OpenConnectionAsync(stop).ConfigureAwait(false);
        await using (connection.ConfigureAwait(false))
        {
            if (fault == SeededFault.EffectOutsideTransaction)
            {
                await ApplyInPartsAsync(connection, item, number, stop).ConfigureAwait(false);
                return;
            }

            NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop).ConfigureAwait(false);
            await using (transaction.ConfigureAwait(false))
            {
                if (await MarkAsync(connection, item.Id, stop).ConfigureAwait(false))
                {
                    await WorkAsync(number, stop).ConfigureAwait(false);
                    await AddEffectAsync(connection, item, number, stop).ConfigureAwait(false);
                }
                else
                {
                    await AddRepeatAsync(connection, number, stop).ConfigureAwait(false);
                }

                await transaction.CommitAsync(stop).ConfigureAwait(false);
            }
        }
    }

    private static async ValueTask ApplyInPartsAsync(NpgsqlConnection connection, WorkItem<string> item, long number, CancellationToken stop)
    {
        if (await AuditTables.ScalarAsync<bool>(
            connection, "SELECT EXISTS (SELECT FROM inbox WHERE id = $1)", stop, AuditTables.Parameter(item.Id.ToString())).ConfigureAwait(false))
        {
            await AddRepeatAsync(connection, number, stop).ConfigureAwait(false);
            return;
        }

        await AddEffectAsync(connection, item, number, stop).ConfigureAwait(false);
        await WorkAsync(number, stop).ConfigureAwait(false);
        await MarkAsync(connection, item.Id, stop).ConfigureAwait(false);
    }

    // A statement of its own waits for a transaction that has just added the same identity, so two workers never both add it.
    private static async ValueTask<bool> MarkAsync(NpgsqlConnection connection, WorkId id, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(
            connection, "INSERT INTO inbox VALUES ($1) ON CONFLICT DO NOTHING", stop, AuditTables.Parameter(id.ToString())).ConfigureAwait(false) > 0;

    private static async ValueTask AddEffectAsync(NpgsqlConnection connection, WorkItem<string> item, long number, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(
            connection,
            "INSERT INTO effects (number, key) VALUES ($1, $2)",
            stop,
            AuditTables.Parameter(number),
            AuditTables.Parameter(item.Key ?? "")).ConfigureAwait(false);

    private static async ValueTask AddRepeatAsync(NpgsqlConnection connection, long number, CancellationToken stop) =>
        await AuditTables.ExecuteAsync(connection, "INSERT INTO repeats (number) VALUES ($1)", stop, AuditTables.Parameter(number)).ConfigureAwait(false);

    private static Task WorkAsync(long number, CancellationToken stop) => Task.Delay(TimeSpan.FromMilliseconds(number % WorkSteps * WorkStep), stop);
}
