using Weir.Delivery.Cli.Commands.Audit.Report;

namespace Weir.Delivery.Cli.Commands.Audit;

/// <summary>An audit: servers and participants, its rounds, and the removal of everything at the end, however it ends.</summary>
internal sealed class AuditRun(AuditSettings settings, RunProgress progress)
{
    private static readonly TimeSpan DropPatience = TimeSpan.FromMinutes(1);

    public async Task<AuditReport> RunAsync(CancellationToken stop)
    {
        progress.Begin("starting the server", 0, settings.Plan.RoundsPlanned);
        await using AuditServer server = settings.Postgres is { } given
            ? AuditServer.Given(given, settings.Rabbit)
            : await AuditServer.StartAsync(AuditEngines.NeedsBroker(settings.Plan.Engine), stop);
        await using AuditDatabase database = await AuditDatabase.CreateAsync(server, stop);
        (IReadOnlyList<AuditRoundRecord> rounds, AuditCounts total, IReadOnlyList<string> left) = await RunAsync(server, database, stop);
        bool isGone = server.IsOwn && stop.IsCancellationRequested;
        return settings.Plan with
        {
            Rounds = rounds,
            Total = total,
            Partial = rounds.Count < settings.Plan.RoundsPlanned && stop.IsCancellationRequested,
            LeftBehind = isGone ? [] : [.. left, .. await DropAsync(database)],
        };
    }

    private static async Task<IReadOnlyList<string>> DropAsync(AuditDatabase database)
    {
        await database.DropAsync();
        return await database.FindLeftoversAsync();
    }

    private static async Task DropAsync(ChangeStream stream, AuditDatabase database, bool isGone)
    {
        await using (stream)
        {
            if (!isGone)
            {
                // Its own connections may have been ended meanwhile.
                using CancellationTokenSource limit = new(DropPatience);
                await database.RetryAsync(
                    async _ =>
                    {
                        await stream.DropAsync(limit.Token);
                        return true;
                    },
                    limit.Token);
            }
        }
    }

    private async Task<(IReadOnlyList<AuditRoundRecord> Rounds, AuditCounts Total, IReadOnlyList<string> LeftBehind)> RunAsync(
        AuditServer server, AuditDatabase database, CancellationToken stop)
    {
        List<AuditRoundRecord> rounds = [];
        IReadOnlyList<string> left = [];
        AuditCounts total = new();
        IAuditEngine engine = AuditEngines.All[settings.Plan.Engine](new EnginePlace(database.Source, database.Name, server.Broker, settings.Plan.Fault));
        ChangeStream? stream = settings.Plan.FromTable ? new ChangeStream(database.Source, database.Connection) : null;
        await using (engine)
        {
            try
            {
                await engine.Queue.SetupAsync(stop);
                if (stream is not null)
                {
                    await stream.SetupAsync(stop);
                }

                await using AuditScene scene = new(server, database, settings);
                await scene.StartAsync(stop);
                AuditRound runner = new(scene, engine, stream, database, settings);
                bool isOver = false;
                for (int round = 1; round <= settings.Plan.RoundsPlanned && !isOver; round++)
                {
                    IReadOnlyList<PlannedFault> plan = AuditPlan.Of(settings.Plan.Seed, round, scene.Targets);
                    progress.Begin($"round {round}: {plan[0]}", round - 1, settings.Plan.RoundsPlanned);
                    long start = Stopwatch.GetTimestamp();
                    (AuditCounts counts, IReadOnlyList<string> wrong) = await runner.RunAsync(plan, (long)round * settings.Plan.Changes, stop);
                    AuditCounts added = counts.Since(total);
                    total = counts;
                    string[] broken = [.. added.FindBroken(), .. wrong];

                    // A seeded fault may break other promises before the one that it is there for.
                    isOver = wrong.Count > 0 || (settings.Plan.Fault == SeededFault.None ? broken.Length > 0 : total.Shows(settings.Plan.Fault));
                    rounds.Add(new AuditRoundRecord(
                        round, [.. plan.Select(static f => f.ToString())], added, broken, Stopwatch.GetElapsedTime(start).TotalSeconds));
                    string found = broken.Length == 0 ? Invariant($"{added.DeliveredAgain:N0} delivered again") : $"BROKEN: {string.Join(", ", broken)}";
                    progress.End($"{string.Join("; ", rounds[^1].Faults)}; {found}", round, settings.Plan.RoundsPlanned);
                }

                string[] stuck = await scene.StopAsync();
                left = [.. stuck, .. await database.RetryAsync(_ => engine.FindLeftoversAsync(workers: 0, stop), stop)];
            }
            catch (Exception) when (stop.IsCancellationRequested)
            {
                // The rounds that are complete are reported. Ctrl-C also goes to what was just starting or stopping the server, which then fails.
            }
            finally
            {
                if (!server.IsOwn)
                {
                    using CancellationTokenSource limit = new(DropPatience);
                    await engine.DropAsync(limit.Token);
                }

                if (stream is not null)
                {
                    await DropAsync(stream, database, isGone: server.IsOwn && stop.IsCancellationRequested);
                }
            }
        }

        return (rounds, total, left);
    }
}
