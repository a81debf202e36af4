using Weir.Audit.Report;
using Weir.Lab.Processes;

namespace Weir.Audit;

/// <summary>An audit: servers and participants, its rounds, and the removal of everything at the end, however it ends.</summary>
internal sealed class AuditRun(AuditSettings settings, RunProgress progress)
{
    private const string Nothing = "nothing happens";

    private static readonly TimeSpan LeasePoll = TimeSpan.FromMilliseconds(250);

    private readonly List<AuditRoundRecord> _rounds = [];
    private readonly List<string> _left = [];
    private AuditCounts _total = new();

    public async Task<AuditReport> RunAsync(CancellationToken stop)
    {
        progress.Begin("starting the server", 0, RoundsPlanned);
        await using AuditServer server = settings.Postgres is { } given
            ? AuditServer.Given(given, settings.Rabbit)
            : await AuditServer.StartAsync(AuditEngines.NeedsBroker(settings.Plan.Engine), stop);
        bool isOver = false;
        foreach (AuditScenario scenario in settings.Scenarios)
        {
            if (isOver || stop.IsCancellationRequested)
            {
                break;
            }

            await using AuditDatabase database = await AuditDatabase.CreateAsync(server, stop);
            isOver = await RunAsync(server, database, scenario, stop);
            if (!server.IsOwn || !stop.IsCancellationRequested)
            {
                _left.AddRange(await DropAsync(database));
            }
        }

        return settings.Plan with
        {
            Rounds = _rounds,
            Total = _total,
            Partial = _rounds.Count < RoundsPlanned && stop.IsCancellationRequested,
            LeftBehind = server.IsOwn && stop.IsCancellationRequested ? [] : _left,
        };
    }

    private int RoundsPlanned => settings.Plan.RoundsPlanned * settings.Scenarios.Count;

    private static async Task<IReadOnlyList<string>> DropAsync(AuditDatabase database)
    {
        await database.DropAsync();
        return await database.FindLeftoversAsync();
    }

    private static async Task DropAsync(ChangeStream stream, AuditDatabase database, bool isGone, Action<string> say)
    {
        await using (stream)
        {
            if (!isGone)
            {
                // Its own connections may have been ended meanwhile.
                Task<bool> dropping = database.RetryAsync(
                    async _ =>
                    {
                        await stream.DropAsync(CancellationToken.None);
                        return true;
                    },
                    CancellationToken.None);
                await LongWait.ForAsync(dropping, "the server to drop the slot of the changes", say);
            }
        }
    }

    /// <returns>Whether no other scenario is to follow.</returns>
    private async Task<bool> RunAsync(AuditServer server, AuditDatabase database, AuditScenario scenario, CancellationToken stop)
    {
        bool isOver = false;
        IAuditEngine engine = AuditEngines.All[settings.Plan.Engine](
            new EngineSetup(database.Source, database.Name, server.Broker, scenario, settings.Plan.Fault));
        ChangeStream? stream = settings.Plan.FromTable ? new ChangeStream(database.Source, database.Connection) : null;
        await using (engine)
        {
            try
            {
                await engine.Queue.SetupAsync(stop);
                await AuditTables.Inbox(database.Source).SetupAsync(stop);
                if (stream is not null)
                {
                    await stream.SetupAsync(stop);
                }

                await using AuditScene scene = new(server, database, scenario, settings, progress.WriteLine);
                await scene.StartAsync(stop);
                AuditRound round = new(scenario, scene, engine, stream, database, settings);
                isOver = await RunRoundsAsync(scene, round, database, engine.Lease, scenario, stop);
                string[] stuck = await scene.StopAsync();
                _left.AddRange([.. stuck, .. await FindLeftAsync(engine, database, stop)]);
            }
            catch (Exception) when (stop.IsCancellationRequested)
            {
                // The rounds that are complete are reported. Ctrl-C also goes to what was just starting or stopping the server, which then fails.
            }
            finally
            {
                if (!server.IsOwn)
                {
                    await LongWait.ForAsync(engine.DropAsync(CancellationToken.None).AsTask(), "the server to drop the queue", progress.WriteLine);
                }

                if (stream is not null)
                {
                    await DropAsync(stream, database, isGone: server.IsOwn && stop.IsCancellationRequested, progress.WriteLine);
                }
            }
        }

        return isOver || _left.Count > 0;
    }

    // Who was killed in the last round may have a lease still: it runs out, and the next consumer that opens the queue takes it away.
    private async Task<IReadOnlyList<string>> FindLeftAsync(IAuditEngine engine, AuditDatabase database, CancellationToken stop)
    {
        long start = Stopwatch.GetTimestamp();
        IReadOnlyList<string> left = await database.RetryAsync(_ => engine.FindLeftoversAsync(workers: 0, stop), stop);
        while (left.Count > 0 && Stopwatch.GetElapsedTime(start) < settings.Patience)
        {
            await Task.Delay(LeasePoll, stop);
            left = await database.RetryAsync(
                async _ =>
                {
                    await (await engine.Queue.OpenSourceAsync(stop)).DisposeAsync();
                    return await engine.FindLeftoversAsync(workers: 0, stop);
                },
                stop);
        }

        return left;
    }

    private async Task<bool> RunRoundsAsync(
        AuditScene scene, AuditRound runner, AuditDatabase database, TimeSpan? lease, AuditScenario scenario, CancellationToken stop)
    {
        AuditCounts before = new();
        bool isOver = false;
        for (int round = 1; round <= settings.Plan.RoundsPlanned && !isOver; round++)
        {
            IReadOnlyList<PlannedFault> plan = scenario.OnlyKills
                ? AuditPlan.OfKills(settings.Plan.Seed, round, scene.Workers)
                : AuditPlan.Of(settings.Plan.Seed, round, scene.Targets);
            string name = settings.Scenarios.Count > 1 ? $"{scenario.Name}, round {round}" : Invariant($"round {round}");
            progress.Begin($"{name}: {(plan.Count == 0 ? Nothing : plan[0].ToString())}", _rounds.Count, RoundsPlanned);
            long start = Stopwatch.GetTimestamp();
            await using RenewalProbe? probe = plan.Count == 0 && lease is { } duration ? new RenewalProbe(database.Source, duration) : null;
            (AuditCounts counts, IReadOnlyList<string> wrong, AuditRecovery? recovery) =
                await runner.RunAsync(plan, (long)round * settings.ChangesOf(scenario), isLast: round == settings.Plan.RoundsPlanned, stop);
            AuditCounts added = counts.Since(before);
            before = counts;
            _total = _total.Plus(added);
            string? heldUp = probe is null ? null : await probe.EndAsync();
            string[] happened = heldUp is null ? [.. plan.Select(static f => f.ToString())] : [heldUp];
            string[] broken = [.. added.FindBroken(isQuiet: happened.Length == 0), .. wrong];

            // A seeded fault may break other promises before the one that it is there for.
            isOver = wrong.Count > 0 || (settings.Plan.Fault == SeededFault.None ? broken.Length > 0 : _total.Shows(settings.Plan.Fault));
            _rounds.Add(new AuditRoundRecord(
                scenario.Name,
                round,
                happened,
                added,
                broken,
                Stopwatch.GetElapsedTime(start).TotalSeconds,
                recovery));
            string age = recovery?.Repeated > 0 ? Invariant($", done up to {recovery.RepeatedSeconds:0.00} s before the kill") : "";
            string found = broken.Length == 0 ? Invariant($"{added.DeliveredAgain:N0} delivered again{age}") : $"BROKEN: {string.Join(", ", broken)}";
            string faults = happened.Length == 0 ? Nothing : string.Join("; ", happened);
            progress.End($"{faults}; {found}", _rounds.Count, RoundsPlanned);
        }

        return isOver;
    }
}
