using System.Diagnostics;
using Weir.Cli.Hosting;
using Weir.Cli.Output;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Lab.Resources;

namespace Weir.Cli.Hash;

/// <summary>One run of the command: makes the files, measures the arms in turns, judges the figures, and writes the result.</summary>
internal sealed class HashRun(HashKnobs knobs, OutputSettings output, IReadOnlyList<string> arguments, CliHost host)
{
    private const string Unit = "tasks";

    private readonly IReadOnlyList<HashOrder> _orders = knobs.Orders();

    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Measure.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
        using MachineLock? alone = MachineLock.TryTake();
        IReadOnlyList<IReadOnlyList<RoundRecord>> rounds = await RunProgress.RunAsync(host, output.Quiet, async progress =>
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

            return await MeasureAsync(progress).ConfigureAwait(false);
        }).ConfigureAwait(false);

        ArmRecord[] arms = [.. _orders.Select((order, i) => Arm(order, rounds[i]))];
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
            Unit = Unit,
            StartedAt = startedAt,
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
            Partial = done < _orders.Count * knobs.Rounds,
            Machine = MachineRecord.Read(),
            Settings = Settings(),
            Arms = arms,
            Findings = [.. Finding.Company(alone)],
        };
        return ResultOutput.Write(HashVerdicts.Judge(result), output, host);
    }

    private static string Text(HashArm arm) => arm.ToString().ToLowerInvariant();

    // Without a process of its own for each round, an arm does all its rounds at once.
    private Task<IReadOnlyList<IReadOnlyList<RoundRecord>>> MeasureAsync(RunProgress progress) =>
        new Arms<HashOrder>(host, HashCommand.Name, HashRounds.RunAsync, Unit, static _ => null).MeasureAsync(
            [.. _orders.Select(static o => ($"{Text(o.Arm)} x {o.Workers}", o))],
            knobs.Isolate ? knobs.Rounds : 1,
            knobs.Isolate ? 1 : knobs.Rounds,
            progress);

    private static ArmRecord Arm(HashOrder order, IReadOnlyList<RoundRecord> rounds) => new()
    {
        Name = Text(order.Arm),
        Workers = order.Workers,
        Settings = new Dictionary<string, string> { ["buffer"] = $"{order.Buffer}" },
        Rounds = rounds,
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
