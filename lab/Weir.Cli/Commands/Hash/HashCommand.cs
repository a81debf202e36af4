namespace Weir.Cli.Commands.Hash;

/// <summary>The <c>hash</c> command: hashes files with many workers, and compares ways to wait for their bytes.</summary>
internal static class HashCommand
{
    public const string Name = "hash";

    public const string Description =
        "Hashes files with N workers, in several ways. It reports files per second, how many reads were really in flight, and proof of where the bytes "
            + "came from.";

    public static Command Create(WeirHost host)
    {
        HashOptionSet options = new();
        OutputOptionSet outputs = new();
        Command command = new(Name, Description);
        options.AddTo(command);
        outputs.AddTo(command);
        command.SetAction(
            (parsed, _) => new HashRun(options.Read(parsed), outputs.Read(parsed), [.. parsed.Tokens.Select(static t => t.Value)], host).RunAsync());
        return command;
    }
}

/// <summary>The options of <c>hash</c>: their names, ranges and defaults, and how they go together.</summary>
internal sealed class HashOptionSet
{
    private const long Gibibyte = 1L << 30;
    private const int MostWorkers = 4096;

    private static readonly IReadOnlyDictionary<string, HashArm> ArmWords = OptionValue.WordsOf<HashArm>();

    private static readonly IReadOnlyDictionary<string, CacheMode> CacheWords = OptionValue.WordsOf<CacheMode>();

    private static readonly Dictionary<string, bool?> IsolateWords = new(StringComparer.OrdinalIgnoreCase)
    {
        ["auto"] = null,
        ["process"] = true,
        ["none"] = false,
    };

    private readonly TextOption _input = TextOption.Of("--input", null, "DIR", "The directory of the files. Missing files are created");
    private readonly TextOption _files = TextOption.Of("--files", null, "N", "How many files. Default 512");
    private readonly TextOption _size = TextOption.Of("--size", null, "SIZE", "The size of a file. Default 16MiB");
    private readonly TextOption _rounds = TextOption.Of("--rounds", null, "N", "Rounds of each arm; each hashes all files. Default 10");
    private readonly TextOption _workers = TextOption.Of("--workers", null, "N,N,...", "How many workers. Default 16");
    private readonly Option<bool> _async = new("--async") { Description = "Measure the asynchronous arm instead of the synchronous one" };
    private readonly TextOption _arms =
        TextOption.Of("--arms", null, "ARM,...", "sync, async, direct and foreach (the library's loop), measured in turns. Default sync");
    private readonly TextOption _cache =
        TextOption.Of("--cache", null, "STATE", "drop (cold page cache), warm, or direct (bypassing the page cache). Default drop");
    private readonly TextOption _buffer =
        TextOption.Of("--buffer", null, "SIZE", "Bytes per read. Default 4096, which is what MD5.HashData reads; 1MiB for direct reads");
    private readonly TextOption _inFlight = TextOption.Of("--inflight", null, "N", "The most files in progress at once. Default: the workers");
    private readonly TextOption _minThreads =
        TextOption.Of("--min-threads", null, "N", "Threads that the pool creates without waiting. Default: its own choice");
    private readonly TextOption _isolate = TextOption.Of("--isolate", null, "HOW",
        "process (a new one for each round), none (one for all rounds of an arm), or auto. Default auto: a process per round if there are several arms");

    public void AddTo(Command command) => command.AddAll(
        _input, _files, _size, _rounds, _workers, _arms, _cache, _buffer, _inFlight, _minThreads, _isolate, _async);

    public HashSettings Read(ParseResult parsed)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed);

        if (Find(_input) is not { Text.Length: > 0 } input)
        {
            throw new BadInputException("--input must be the directory of the files, such as --input ./files; missing files are created in it.");
        }

        OptionValue? arms = Find(_arms);
        bool isAsync = parsed.GetValue(_async);
        if (arms is not null && isAsync)
        {
            throw new BadInputException("--async and --arms cannot be used together; write --arms async.");
        }

        HashArm[] chosen = arms is not null ? Arms(arms) : [isAsync ? HashArm.Async : HashArm.Sync];
        CacheMode cache = Find(_cache)?.OneOf(CacheWords) ?? CacheMode.Drop;
        if (!PageCache.IsControllable && (cache != CacheMode.Warm || chosen.Contains(HashArm.Direct)))
        {
            throw new BadInputException("--cache must be warm on this system; only on Linux can the page cache be dropped or bypassed without privileges.");
        }

        bool direct = cache == CacheMode.Direct || chosen.Contains(HashArm.Direct);
        OptionValue? buffer = Find(_buffer);
        long? bytes = buffer?.Bytes(1, Gibibyte);
        if (direct && bytes % AlignedBuffer.Alignment is > 0)
        {
            throw buffer!.Bad("a multiple of 4,096 bytes for reads that bypass the page cache");
        }

        IReadOnlyList<int> workers = Find(_workers)?.WholeNumbers(1, MostWorkers) ?? [16];
        return new HashSettings
        {
            Input = input.Text,
            Order = new HashOrder
            {
                Directory = Path.GetFullPath(input.Text),
                Files = Find(_files)?.WholeNumber(1, 100_000) ?? 512,
                FileSize = Find(_size)?.Bytes(1, 64 * Gibibyte) ?? 16L << 20,
                Cache = cache,
                InFlight = Find(_inFlight)?.WholeNumber(1, MostWorkers),
                MinThreads = Find(_minThreads)?.WholeNumber(1, short.MaxValue),
            },
            Workers = workers,
            Arms = chosen,
            Rounds = Find(_rounds)?.WholeNumber(1, 10_000) ?? 10,
            Buffer = (int?)bytes,
            Isolate = Find(_isolate)?.OneOf(IsolateWords) ?? workers.Count * chosen.Length > 1,
        };
    }

    private static HashArm[] Arms(OptionValue given)
    {
        string[] words = given.Text.Split(',', StringSplitOptions.TrimEntries);
        return words.Distinct(StringComparer.OrdinalIgnoreCase).Count() == words.Length && words.All(ArmWords.ContainsKey)
            ? [.. words.Select(static w => ArmWords[w])]
            : throw given.Bad("different arms among sync, async, direct and foreach, separated by commas");
    }
}

/// <summary>The checked settings of one run of <c>hash</c>.</summary>
internal sealed record HashSettings
{
    // There is no read-ahead for reads that bypass the cache: with 4 KiB, the round trip of a request would be measured.
    private const int DirectBuffer = 1024 * 1024;

    public required string Input { get; init; }

    /// <summary>What each measuring process is told, but for its arm, its workers, its rounds, and its buffer if none was given.</summary>
    public required HashOrder Order { get; init; }

    public required IReadOnlyList<int> Workers { get; init; }

    public required IReadOnlyList<HashArm> Arms { get; init; }

    public required int Rounds { get; init; }

    /// <summary>Bytes of one read; <see langword="null"/> for 4,096, or 1 MiB past the page cache.</summary>
    public required int? Buffer { get; init; }

    /// <summary>Whether each round gets a process of its own.</summary>
    public required bool Isolate { get; init; }

    /// <summary>What a measuring process is told, one for each arm and number of workers.</summary>
    public IReadOnlyList<HashOrder> Orders() =>
    [
        .. Workers.SelectMany(_ => Arms, (workers, arm) => Order with { Workers = workers, Arm = arm, Rounds = Isolate ? 1 : Rounds })
            .Select(order => order with { Buffer = Buffer ?? (order.IsDirect ? DirectBuffer : FileHasher.PlatformBuffer) }),
    ];
}

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

/// <summary>Decides which conclusions the figures of a run allow.</summary>
internal static class HashVerdicts
{
    /// <summary>From this share of the processors on, the processors limit the rate, not the device.</summary>
    private const double CpuBoundShare = 0.85;

    /// <summary>Below this share of idle time, the machine has no processor left, whichever program uses it.</summary>
    private const double NoIdle = 0.1;

    /// <summary>A device without waiting reads does not limit the rate.</summary>
    private const double FewestWaiting = 0.5;

    private const double NoisyCanary = 1.1;
    private const double WideSpread = 1.5;
    private const int MostNamed = 3;

    // They read and hash on threads of their own, so the pool has no part in it.
    private static readonly string[] OnOwnThreads = [HashRun.Text(HashArm.Sync), HashRun.Text(HashArm.Direct)];

    /// <summary>Adds the verdicts to a result.</summary>
    /// <param name="result">The figures.</param>
    /// <param name="interleaved">Whether the rounds of the arms were measured in turns.</param>
    public static ResultFile Evaluate(ResultFile result, bool interleaved)
    {
        List<Finding> findings = [.. result.Findings, .. RunRecords.Problems(result.Arms)];
        ArmRecord[] measured = [.. result.Arms.Where(static a => a.IsMeasured)];
        if (result.Arms.SelectMany(static a => a.Rounds).Where(static r => !r.Partial).Select(static r => r.Checksum).Distinct().Count() > 1)
        {
            findings.Add(new Finding(FindingLevel.Invalid, "The hashes of the same files differ between rounds.", FindingKind.Rounds));
        }

        if (measured.Length > 0)
        {
            findings.Add(Bound(result, measured));
            findings.AddRange(Depth(measured));
            findings.AddRange(Noise(measured));
        }

        return result with { Findings = findings, Comparisons = Comparisons(result, interleaved) };
    }

    // All arms of one number of workers against the first.
    private static IReadOnlyList<ComparisonRecord> Comparisons(ResultFile result, bool interleaved) => Comparing.All(
        result.Arms.GroupBy(static a => a.Workers).SelectMany(static g => g.Skip(1).Select(arm => (arm, g.First()))),
        new ComparisonOptions(),
        interleaved);

    /// <summary>Why the processors, and not the device, limited the rate of an arm; <see langword="null"/> if they did not.</summary>
    internal static string? CpuBound(ArmRecord arm, int cores)
    {
        double used = arm.Mean(static r => r.Cores) ?? 0;
        if (used >= CpuBoundShare * cores)
        {
            return FormattableString.Invariant($"{used:0.00} of {cores} cores");
        }

        if (IsBoundByOthers(arm, cores))
        {
            double idle = arm.Mean(static r => r.MachineIdle)!.Value;
            return FormattableString.Invariant($"{used:0.00} of {cores} cores, and {idle * 100:0} % of the machine idle; others used the rest");
        }

        return arm.Mean(static r => r.InFlight) is < FewestWaiting and { } waiting
            ? FormattableString.Invariant($"{used:0.00} of {cores} cores, and {waiting:0.0} reads waiting on average")
            : null;
    }

    private static bool IsBoundByOthers(ArmRecord arm, int cores) =>
        (arm.Mean(static r => r.Cores) ?? 0) < CpuBoundShare * cores && arm.Mean(static r => r.MachineIdle) is < NoIdle;

    private static Finding Bound(ResultFile result, ArmRecord[] arms)
    {
        int cores = result.Machine.Cores;
        (ArmRecord Arm, string Why)[] bound = [.. arms.Select(a => (a, Why: CpuBound(a, cores)!)).Where(static b => b.Why is not null)];
        if (bound.Length == 0)
        {
            return new Finding(FindingLevel.Note, "I/O-bound: the device limited the rates.", FindingKind.Bound);
        }

        string which = bound.Length == arms.Length ? "CPU-bound" : $"CPU-bound in {bound.Length} of {arms.Length} arms";
        string why = bound.Length <= MostNamed
            ? string.Join("; ", bound.Select(static b => $"{b.Arm.Label}: {b.Why}"))
            : FormattableString.Invariant(
                $"{bound.Min(static b => b.Arm.Mean(static r => r.Cores)):0.00}..{bound.Max(static b => b.Arm.Mean(static r => r.Cores)):0.00} of {cores} ")
                    + FormattableString.Invariant(
                        $"cores by this process, {bound.Average(static b => b.Arm.Mean(static r => r.MachineIdle) ?? 0) * 100:0} % of the machine idle");
        string arm = bound.Length == arms.Length || bound.Length <= MostNamed ? "" : $" The arms: {string.Join(", ", bound.Select(static b => b.Arm.Label))}.";
        if (bound.Any(b => IsBoundByOthers(b.Arm, cores)))
        {
            return new Finding(FindingLevel.Doubt, $"{which} ({why}). Other programs used the processors, so this is neither an I/O result nor the cost of "
                + $"hashing. Measure it again on a quiet machine.{arm}", FindingKind.Bound);
        }

        return new Finding(FindingLevel.Doubt,
            $"{which} ({why}). This is not an I/O result: it shows the cost of hashing, not the effect of the device or of the way of waiting.{arm}",
            FindingKind.Bound);
    }

    // The number of workers is the requested depth. The depth that the device sees can differ.
    private static IEnumerable<Finding> Depth(ArmRecord[] arms)
    {
        foreach (ArmRecord arm in arms)
        {
            if (arm.Mean(static r => r.Open) is { } open && arm.Max(static r => r.InFlightMax) is { } most && arm.Mean(static r => r.InFlight) is { } waiting
                && open >= 2 && most <= open / 2)
            {
                yield return new Finding(
                    FindingLevel.Note,
                    FormattableString.Invariant(
                        $"{arm.Label}: {open:0.0} files were open on average, but {waiting:0.0} reads waited in the kernel (at most {most:0}): the others ")
                            + (OnOwnThreads.Contains(arm.Name) ? "were being hashed, or waited for a processor."
                                : FormattableString.Invariant($"queued for {arm.Max(static r => r.PoolThreads) ?? 0:0} pool threads or a processor.")));
            }
        }
    }

    private static IEnumerable<Finding> Noise(ArmRecord[] arms)
    {
        double slowest = arms.Max(static a => a.Max(static r => r.CanarySlowness) ?? 1);
        if (slowest > NoisyCanary)
        {
            yield return new Finding(FindingLevel.Doubt, FormattableString.Invariant($"Neighbours were active: the canary took up to {slowest:0.00} times as ")
                + FormattableString.Invariant($"long as on a quiet machine. Trust the sign of a difference, not its size."), FindingKind.Machine);
        }

        (string Label, double Factor)[] wide =
        [
            .. arms.Where(static a => a.Counted.Count > 1)
                .Select(static a => (a.Label, a.Rate().Max / a.Rate().Min))
                .Where(static x => x.Item2 > WideSpread)
                .OrderByDescending(static x => x.Item2),
        ];
        if (wide.Length > 0)
        {
            yield return new Finding(FindingLevel.Doubt, $"The rounds of one arm differ by up to a factor of {Numbers.Short(wide[0].Factor)}: "
                + $"{string.Join(", ", wide.Select(static w => w.Label))}.", FindingKind.Machine);
        }
    }
}
