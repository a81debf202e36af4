using System.Text.Json.Nodes;
using Weir.Delivery.Cli.Commands.Work.Execution;
using Weir.Delivery.Cli.Engines;
using Weir.Lab.Formatting;
using Weir.PostgreSql;

namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The command that says how much waits in a queue, or behind a replication slot.</summary>
internal static class StatsCommand
{
    private static readonly TimeSpan s_longest = TimeSpan.FromDays(1);

    public static Command Create(WorkCliHost host)
    {
        WorkOptionSet work = new();
        TextOption slot = TextOption.Of("--slot", null, "NAME", "A replication slot of that PostgreSQL server, instead of a queue");
        TextOption every = TextOption.Of("--every", null, "TIME", "Ask again after this time, until Ctrl-C. Default: ask once");
        Command command = new("stats", "Says how much waits in a queue or behind a slot.") { slot, every };
        work.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            TimeSpan? pause = every.Find(parsed)?.Time(TimeSpan.FromMilliseconds(100), s_longest, "10s");
            if (slot.Find(parsed)?.NotEmpty("the name of a replication slot") is { } name)
            {
                await using NpgsqlDataSource server = work.Server(parsed, host);
                return await RunAsync(Slot(server, name, host), isSlot: true, pause, work.IsJson(parsed), host, token);
            }

            await using OpenedQueue opened = work.Open(parsed, host);
            return await RunAsync(opened.Queue, isSlot: false, pause, work.IsJson(parsed), host, token);
        });
        return command;
    }

    private static PostgresReplicationSlot Slot(NpgsqlDataSource server, string name, WorkCliHost host)
    {
        try
        {
            return new PostgresReplicationSlot(server, name, host.Clock);
        }
        catch (ArgumentException e)
        {
            throw new BadInputException($"--slot cannot be used: {e.Message}");
        }
    }

    private static async Task<int> RunAsync(
        IWorkStatistics source, bool isSlot, TimeSpan? pause, bool isJson, WorkCliHost host, CancellationToken stop)
    {
        try
        {
            while (true)
            {
                WorkStatistics now = await source.GetStatisticsAsync(stop);
                (string Name, JsonNode? Value, string? Text)[] rows = isSlot ? SlotRows(source.Name, now) : QueueRows(source.Name, now);
                WorkOutput.WriteLine(host, isJson
                    ? WorkOutput.Json([.. rows.Select(static r => (r.Name, r.Value))])
                    : string.Join(Environment.NewLine, rows.Where(static r => r.Text is not null).Select(static r => r.Text)));
                if (pause is not { } wait)
                {
                    return ExitCode.Success;
                }

                await Task.Delay(wait, host.Clock, stop);
            }
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested && pause is not null)
        {
            return ExitCode.Success;
        }
    }

    // What the server does not know has no line of text, and is null in JSON.
    private static (string Name, JsonNode? Value, string? Text)[] QueueRows(string name, WorkStatistics now) =>
    [
        ("queue", name, Line("queue", name)),
        ("waiting", now.Waiting, Count("waiting", now.Waiting, "items")),
        ("waitingMessages", now.WaitingMessages, Count("waiting", now.WaitingMessages, "messages, each of one or more items")),
        ("scheduled", now.Scheduled, Count("scheduled", now.Scheduled, "items")),
        ("scheduledMessages", now.ScheduledMessages, Count("scheduled", now.ScheduledMessages, "messages")),
        ("inFlight", now.InFlight, Count("in flight", now.InFlight, "items")),
        ("oldestAgeSeconds", now.OldestAge?.TotalSeconds, Seconds("oldest", now.OldestAge, "waiting")),
        ("deadLetters", now.DeadLetters, Count("dead", now.DeadLetters, "letters")),
    ];

    private static (string Name, JsonNode? Value, string? Text)[] SlotRows(string name, WorkStatistics now) =>
    [
        ("slot", name, Line("slot", name)),
        ("lagBytes", now.LagBytes, Count("behind", now.LagBytes, "bytes of log")),
        ("lagSeconds", now.Lag?.TotalSeconds, Seconds("behind for", now.Lag, "at least")),
        ("retainedBytes", now.RetainedBytes, Count("retained", now.RetainedBytes, "bytes of log on the server's disk")),
        ("remainingBytes", now.RemainingBytes, Count("remaining", now.RemainingBytes, "bytes of log until changes can be lost")),
        ("isActive", now.IsActive, now.IsActive is { } active ? Line("reader", active ? "yes" : "none") : null),
        ("logState", State(now.LogState), now.LogState is null ? null : Line("log", State(now.LogState)!)),
    ];

    private static string? State(WorkLogState? state) => state?.ToString().ToLowerInvariant();

    private static string? Count(string what, long? value, string unit) => value is { } count ? Line(what, $"{Numbers.Grouped(count)} {unit}") : null;

    private static string? Seconds(string what, TimeSpan? value, string suffix) =>
        value is { } time ? Line(what, string.Create(CultureInfo.InvariantCulture, $"{time.TotalSeconds:0.0} s {suffix}")) : null;

    private static string Line(string what, string value) => $"{what,-11}{value}";
}
