using RabbitMQ.Client;
using Weir.Lab.Queues.Jobs;

namespace Weir.Tables.Jobs;

/// <summary>What <c>job-systems</c> does: builds the program of the arms, starts a process for each turn, and deletes what a turn has left.</summary>
/// <param name="postgres">The server on which a database is created for each turn.</param>
/// <param name="rabbit">The address of the broker.</param>
/// <param name="progress">Where progress goes.</param>
internal sealed class JobsRun(NpgsqlConnectionStringBuilder postgres, Uri rabbit, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "job-systems";

    private const string Program = "Weir.Lab.Queues";

    // What takes longer is measured once: its rate is that of very many items.
    private static readonly TimeSpan Slow = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(10);

    private string _program = "";

    /// <summary>Builds the program of the arms.</summary>
    public async Task BuildAsync(CancellationToken stop) => _program = await ColdBuilds.BuildAsync(Verb, Program, stop);

    /// <summary>The servers and their versions.</summary>
    public async Task<string> ServersAsync(CancellationToken stop)
    {
        await using NpgsqlConnection database = new(postgres.ToString());
        await database.OpenAsync(stop);
        await using IConnection broker = await new ConnectionFactory { Uri = rabbit }.CreateConnectionAsync(stop);
        string version = broker.ServerProperties is { } properties && properties.TryGetValue("version", out object? value) && value is byte[] text ? Encoding.UTF8.GetString(text) : "unknown";
        return $"PostgreSQL {database.PostgreSqlVersion}, RabbitMQ {version}";
    }

    /// <summary>Measures a section, and makes its tables.</summary>
    /// <param name="section">Its key.</param>
    /// <param name="rounds">How often each arm is measured.</param>
    /// <param name="most">No arm gets more items.</param>
    /// <param name="stop">Ends it.</param>
    public async Task<string> MeasureAsync(string section, int rounds, int most, CancellationToken stop)
    {
        string work = JobsPage.WorkOf(section);
        (JobArm Arm, int Items)[] arms = [.. JobArm.Of(work, most)];
        List<JobReading>[] readings = [.. arms.Select(static _ => new List<JobReading>())];
        HashSet<int> slow = [];
        long start = Stopwatch.GetTimestamp();
        await RoundRunner.TakeTurnsAsync(
            arms.Length,
            round => round < (work == JobReading.Kill ? 1 : rounds),
            async (index, round) =>
            {
                if (slow.Contains(index))
                {
                    return RoundEnd.Next;
                }

                (JobArm arm, int items) = arms[index];
                JobReading reading = await TurnAsync(arm, work, items, stop);
                readings[index].Add(reading);
                if (reading.Seconds > Slow.TotalSeconds)
                {
                    slow.Add(index);
                }

                await progress.WriteLineAsync(Invariant(
                    $"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0} s  {section}, round {round + 1}: {arm.Name}, {arm.Shape.Name}, {items:N0} items: {reading.Seconds:0.00} s"));
                return RoundEnd.Next;
            },
            stop);
        stop.ThrowIfCancellationRequested();
        return JobsPage.Table(section, [.. arms.Zip(readings, static (arm, own) => (arm.Arm, (IReadOnlyList<JobReading>)own))]);
    }

    private async Task<JobReading> TurnAsync(JobArm arm, string work, int items, CancellationToken stop)
    {
        if (arm.Server == JobArm.Postgres)
        {
            await using FigureDatabase database = await FigureDatabase.CreateAsync(postgres, stop);
            NpgsqlConnectionStringBuilder server = new(postgres.ToString()) { Database = database.Name };
            return JobReading.Parse(await RunAsync(arm, work, server.ToString(), "items", items, stop));
        }

        string queue = $"weir-jobs-{Guid.NewGuid():N}";
        try
        {
            return JobReading.Parse(await RunAsync(arm, work, rabbit.AbsoluteUri, queue, items, stop));
        }
        finally
        {
            await RunAsync(arm, "delete", rabbit.AbsoluteUri, queue, 0, CancellationToken.None);
        }
    }

    // A process that does not end is an error that says which.
    private async Task<string> RunAsync(JobArm arm, string work, string server, string queue, int items, CancellationToken stop)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        end.CancelAfter(Longest);
        try
        {
            ChildEnd child = await ColdBuilds.Start([_program, work, arm.Name, server, queue, Invariant($"{items}"), arm.Shape.Name], end.Token)();
            return child.Code == 0
                ? child.Output.Trim()
                : throw new WrongResultException(arm.Name, $"{arm.Name}, {arm.Shape.Name}, {work}, failed with exit code {child.Code}.");
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            throw new TimeoutException(Invariant($"{arm.Name}, {arm.Shape.Name}, {work}, did not end within {Longest.TotalMinutes} minutes."));
        }
    }
}
