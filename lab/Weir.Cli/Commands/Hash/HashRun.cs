namespace Weir.Cli.Commands.Hash;

/// <summary>One run of the command: makes the files, measures the arms in turns, judges the figures, and writes the result.</summary>
internal sealed class HashRun(HashSettings settings, OutputSettings output, IReadOnlyList<string> arguments, WeirHost host)
{
    private const string Unit = "tasks";

    private readonly IReadOnlyList<HashOrder> _orders = settings.Orders();
    private readonly string _warmUp = Path.Combine(Path.GetFullPath(settings.Input), $".weir-warm-up-{Guid.NewGuid():N}");

    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Measure.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
        using MachineLock? alone = MachineLock.TryTake();
        IReadOnlyList<IReadOnlyList<RoundRecord>> rounds = await RunProgress.RunAsync(host, output.Quiet, async progress =>
        {
            int made = RandomFiles.Ensure(
                settings.Input,
                settings.Order.Files,
                settings.Order.FileSize,
                done => progress.Begin("making files", done, settings.Order.Files),
                host.Stop);
            if (made > 0)
            {
                progress.End($"made {Numbers.Grouped(made)} files of {Numbers.Bytes(settings.Order.FileSize)}", settings.Order.Files, settings.Order.Files);
            }

            string rounds = Numbers.Counted(_orders.Count * settings.Rounds, "round");
            string each = Numbers.Bytes(settings.Order.Files * (double)settings.Order.FileSize);
            progress.Say($"{rounds} of {each}{(settings.Isolate ? ", each in a process of its own" : "")}; how long they take is known after the first");
            try
            {
                HashRounds.MakeWarmUpFiles(_warmUp, host.Stop);
                return await MeasureAsync(progress);
            }
            finally
            {
                if (Directory.Exists(_warmUp))
                {
                    Directory.Delete(_warmUp, recursive: true);
                }
            }
        });

        ArmRecord[] arms = [.. _orders.Select((order, i) => Arm(order, rounds[i]))];
        int done = arms.Sum(static a => a.Rounds.Count(static r => !r.Partial));
        if (done == 0 && host.Stop.IsCancellationRequested)
        {
            throw new OperationCanceledException(host.Stop);
        }

        ResultFile result = ResultFile.Here(
            HashCommand.Name,
            arguments,
            $"MD5 of {Numbers.Grouped(settings.Order.Files)} files of {Numbers.Bytes(settings.Order.FileSize)}",
            Unit,
            startedAt) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
            Partial = done < _orders.Count * settings.Rounds,
            Settings = Settings(),
            Arms = arms,
            Findings = [.. Finding.OtherMeasurement(alone)],
        };
        return ResultOutput.Write(HashVerdicts.Evaluate(result, settings.Isolate), output, host);
    }

    internal static string Text(HashArm arm) => arm.ToString().ToLowerInvariant();

    // Without a process of its own for each round, an arm does all its rounds at once.
    private Task<IReadOnlyList<IReadOnlyList<RoundRecord>>> MeasureAsync(RunProgress progress) =>
        new Arms<HashOrder>(host, HashCommand.Name, HashRounds.RunAsync, Unit, static _ => null).MeasureAsync(
            [.. _orders.Select(o => ($"{Text(o.Arm)} x {o.Workers}", o with { WarmUpDirectory = _warmUp }))],
            settings.Isolate ? settings.Rounds : 1,
            settings.Isolate ? 1 : settings.Rounds,
            progress);

    private static ArmRecord Arm(HashOrder order, IReadOnlyList<RoundRecord> rounds) => new()
    {
        Name = Text(order.Arm),
        Workers = order.Workers,
        Settings = new Dictionary<string, string> { ["buffer"] = $"{order.Buffer}" },
        Rounds = rounds,
    };

    private Dictionary<string, string> Settings() => SettingTexts.Given(
        ("files", Numbers.Grouped(settings.Order.Files)),
        ("size", Numbers.Bytes(settings.Order.FileSize)),
        ("cache", settings.Order.Cache.ToString().ToLowerInvariant()),
        ("rounds", $"{settings.Rounds}"),
        ("isolate", settings.Isolate ? "process" : "none"),
        ("buffer", string.Join(", ", _orders.DistinctBy(static o => o.Arm).Select(static o => $"{Text(o.Arm)} {o.Buffer}"))),
        ("inflight", settings.Order.InFlight is { } limit ? $"{limit}" : null),
        ("min_threads", settings.Order.MinThreads is { } threads ? $"{threads}" : null));
}
