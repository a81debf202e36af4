using System.Diagnostics;
using Weir.Cli.Hosting;
using Weir.Cli.Output;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Lab.Trials;

namespace Weir.Cli.Hash;

/// <summary>One run of the command: makes the files, measures the arms in turns, judges the figures, and writes the result.</summary>
internal sealed class HashRun(HashKnobs knobs, OutputSettings output, IReadOnlyList<string> arguments, CliHost host)
{
    private readonly IReadOnlyList<HashOrder> _orders = knobs.Orders();
    private readonly Dictionary<HashOrder, List<RoundRecord>> _rounds = [];
    private int _order;

    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Measure.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
        await RunProgress.RunAsync(host, output.Quiet, async progress =>
        {
            int made = HashFiles.Ensure(
                knobs.Input,
                knobs.Files,
                knobs.FileSize,
                done => progress.Begin("making files", done, knobs.Files),
                host.Stop);
            if (made > 0)
            {
                progress.End($"made {Numbers.Grouped(made)} files of {Numbers.Bytes(knobs.FileSize)}", knobs.Files, knobs.Files);
            }

            await MeasureAsync(progress).ConfigureAwait(false);
            return 0;
        }).ConfigureAwait(false);

        ArmRecord[] arms = [.. _orders.Select(Arm)];
        int done = arms.Sum(static a => a.Rounds.Count(static r => !r.Partial));
        if (done == 0 && host.Stop.IsCancellationRequested)
        {
            throw new OperationCanceledException(host.Stop);
        }

        ResultFile result = new()
        {
            Command = HashCommand.Name,
            Arguments = arguments,
            Work = $"MD5 of {Numbers.Grouped(knobs.Files)} files of {Numbers.Bytes(knobs.FileSize)}",
            Unit = "tasks",
            StartedAt = startedAt,
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
            Partial = done < _orders.Count * knobs.Rounds,
            Machine = MachineRecord.Read(),
            Settings = Settings(),
            Arms = arms,
        };
        return ResultOutput.Write(HashVerdicts.Judge(result), output, host);
    }

    private static string Text(HashArm arm) => arm.ToString().ToLowerInvariant();

    private async Task MeasureAsync(RunProgress progress)
    {
        // Without a process of its own for each round, an arm does all its rounds at once.
        int turns = knobs.Isolate ? knobs.Rounds : 1;
        int all = _orders.Count * knobs.Rounds;
        for (int turn = 0; turn < turns; turn++)
        {
            foreach (int index in TrialOrder.Of(_orders.Count, turn))
            {
                if (host.Stop.IsCancellationRequested)
                {
                    return;
                }

                HashOrder order = _orders[index];
                string name = $"{Text(order.Arm)} x {order.Workers}";
                progress.Begin(name, _order, all);
                await RoundsAsync(order, round =>
                {
                    List<RoundRecord> rounds = _rounds.TryGetValue(order, out List<RoundRecord>? known) ? known : _rounds[order] = [];
                    rounds.Add(round with { Order = ++_order });
                    progress.End(FormattableString.Invariant($"{name}: {round.Rate:0.00000} tasks/s{(round.Partial ? " (stopped)" : round.Problem is { } p ? $" INVALID: {p}" : "")}"), _order, all);
                }).ConfigureAwait(false);
            }
        }
    }

    private async Task RoundsAsync(HashOrder order, Action<RoundRecord> round)
    {
        if (host.Measure.UseProcesses)
        {
            await MeasureCommand.InNewProcessAsync(HashCommand.Name, order, round, host.Stop).ConfigureAwait(false);
            return;
        }

        await foreach (RoundRecord record in HashRounds.RunAsync(order, host.Stop).ConfigureAwait(false))
        {
            round(record);
        }
    }

    private ArmRecord Arm(HashOrder order) => new()
    {
        Name = Text(order.Arm),
        Workers = order.Workers,
        Settings = new Dictionary<string, string> { ["buffer"] = $"{order.Buffer}" },
        Rounds = _rounds.GetValueOrDefault(order) ?? [],
    };

    private Dictionary<string, string> Settings()
    {
        Dictionary<string, string> settings = new()
        {
            ["files"] = Numbers.Grouped(knobs.Files),
            ["size"] = Numbers.Bytes(knobs.FileSize),
            ["cache"] = knobs.Cache.ToString().ToLowerInvariant(),
            ["rounds"] = $"{knobs.Rounds}",
            ["isolate"] = knobs.Isolate ? "process" : "none",
            ["buffer"] = string.Join(", ", _orders.DistinctBy(static o => o.Arm).Select(static o => $"{Text(o.Arm)} {o.Buffer}")),
        };
        if (knobs.InFlight is { } limit)
        {
            settings["inflight"] = $"{limit}";
        }

        if (knobs.MinThreads is { } threads)
        {
            settings["min_threads"] = $"{threads}";
        }

        return settings;
    }
}
