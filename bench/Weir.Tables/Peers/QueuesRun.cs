using Npgsql;
using Weir.Lab.Processes;
using Weir.Lab.Queues.Measuring;
using Weir.Lab.Trials;
using Weir.Lab.Workers;
using Weir.Tables.Servers.Turns;
using Weir.Tables.Startup;
using static System.FormattableString;

namespace Weir.Tables.Peers;

/// <summary>What <c>queues-compared</c> does: builds the program of the arms, starts a process for each turn, and deletes what a turn has left.</summary>
/// <param name="postgres">The server on which a database is created for each turn; null for none.</param>
/// <param name="rabbit">The address of the broker; null for none.</param>
/// <param name="progress">Where progress goes.</param>
internal sealed class QueuesRun(NpgsqlConnectionStringBuilder? postgres, Uri? rabbit, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "queues-compared";

    private const string Program = "Weir.Lab.Queues";
    private const int Latencies = 500;

    // An arm that is slow takes half a minute. Workers are killed until nothing has come for longer than a minute.
    private static readonly TimeSpan LongestTurn = TimeSpan.FromSeconds(100);
    private static readonly TimeSpan LongestKills = TimeSpan.FromMinutes(5);

    private string _program = "";

    /// <summary>The arms whose servers there are.</summary>
    public IReadOnlyList<QueuePeer> Peers { get; } =
        [.. QueuePeer.All.Where(peer => peer.Server == QueuePeer.Postgres ? postgres is not null : rabbit is not null)];

    /// <summary>Builds the program of the arms.</summary>
    public async Task BuildAsync(CancellationToken stop) => _program = await ColdBuilds.BuildAsync(Verb, Program, stop);

    /// <summary>Measures a section, and makes its table.</summary>
    public async Task<string> MeasureAsync(string section, int rounds, CancellationToken stop)
    {
        Dictionary<string, List<QueueReading>> readings = Peers.ToDictionary(static peer => peer.Arm, static _ => new List<QueueReading>());
        await RoundRunner.TakeTurnsAsync(
            Peers.Count,
            round => round < rounds,
            async (arm, round) =>
            {
                foreach ((string work, int items) in Turns(section, Peers[arm]))
                {
                    string end = "";
                    try
                    {
                        readings[Peers[arm].Arm].AddRange(await TurnAsync(Peers[arm], work, items, stop));
                    }
                    catch (TimeoutException e)
                    {
                        // A peer that loses sight of an item now and then is measured by its other rounds.
                        bool isMeasured = round + 1 < rounds || readings[Peers[arm].Arm].Exists(reading => reading.Work == work);
                        end = Peers[arm].Library != QueuePeer.Weir && isMeasured ? $": {e.Message}" : throw new WrongResultException(Peers[arm].Arm, e.Message);
                    }

                    progress.WriteLine(Invariant($"round {round + 1} of {rounds}: {Peers[arm].Arm}, {work}{end}"));
                }

                return RoundEnd.Next;
            },
            stop);
        stop.ThrowIfCancellationRequested();
        return QueuesPage.Table(section, Peers, peer => readings[peer.Arm]);
    }

    private static (string Work, int Items)[] Turns(string section, QueuePeer peer) => section switch
    {
        "throughput" => [(QueueReading.Handle, peer.Items), (QueueReading.HandleSlowly, peer.SlowItems)],
        "latency" => [(QueueReading.Latency, Latencies)],
        _ => [(QueueReading.Kills, peer.KilledItems)],
    };

    private async Task<IReadOnlyList<QueueReading>> TurnAsync(QueuePeer peer, string work, int items, CancellationToken stop)
    {
        if (peer.Server == QueuePeer.Postgres)
        {
            await using FigureDatabase database = await FigureDatabase.CreateAsync(postgres!, stop);
            NpgsqlConnectionStringBuilder server = new(postgres!.ToString()) { Database = database.Name };
            return await RunAsync(peer, work, server.ToString(), "items", items, stop);
        }

        string queue = $"weir-compared-{Guid.NewGuid():N}";
        try
        {
            return await RunAsync(peer, work, rabbit!.AbsoluteUri, queue, items, stop);
        }
        finally
        {
            await RunAsync(peer, "delete", rabbit!.AbsoluteUri, queue, 0, CancellationToken.None);
        }
    }

    // A process that does not end is an error that says which.
    private async Task<IReadOnlyList<QueueReading>> RunAsync(QueuePeer peer, string work, string server, string queue, int items, CancellationToken stop)
    {
        TimeSpan longest = work == QueueReading.Kills ? LongestKills : LongestTurn;
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        end.CancelAfter(longest);
        try
        {
            ChildEnd child = await ColdBuilds.Start([_program, work, peer.Arm, server, queue, Invariant($"{items}")], end.Token)();
            return child.Code == 0
                ? [.. child.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(QueueReading.Parse)]
                : throw new WrongResultException(peer.Arm, $"{peer.Arm}, {work}, failed with exit code {child.Code}.");
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            throw new TimeoutException(Invariant($"{peer.Arm}, {work}, did not end within {longest.TotalSeconds} s."));
        }
    }
}
