namespace Weir.Cli.Commands.Load.Options;

/// <summary>The options of <c>load</c>: their names, ranges and defaults, and how they go together.</summary>
internal sealed class LoadOptionSet
{
    /// <summary>A batch lies in memory as a whole, with its outcomes.</summary>
    private const int LargestBatch = 100_000_000;
    private const int DefaultCount = 500_000;
    private const int MostThreads = 1024;
    private const int MostConcurrency = 1_000_000;

    private static readonly Dictionary<string, RuntimeKind[]> RuntimeWords = new(StringComparer.OrdinalIgnoreCase)
    {
        ["direct"] = [RuntimeKind.Direct],
        ["concurrent"] = [RuntimeKind.Concurrent],
        ["parallel"] = [RuntimeKind.Parallel],
        ["auto"] = [RuntimeKind.Auto],
        ["all"] = [RuntimeKind.Direct, RuntimeKind.Concurrent, RuntimeKind.Parallel, RuntimeKind.Auto],
    };

    private readonly TextOption _count = TextOption.Of(
        "--count", "COUNT", "N", "Items per pass. Default 500,000, or fewer if their work takes more than about a second in total; the lines of --input");
    private readonly TextOption _batchSize = TextOption.Of("--batch-size", "BATCH_SIZE", "N", "Items of a call. Default: all");
    private readonly TextOption _runtime = TextOption.Of("--runtime", "RUNTIME", "KIND", "direct, concurrent, parallel, auto or all. Default all");
    private readonly TextOption _concurrency =
        TextOption.Of(
            "--concurrency", "CDC_CONCURRENCY", "N", "Items in flight in the concurrent runtime, and the most in flight in the auto runtime. Default 100");
    private readonly TextOption _parallelSize =
        TextOption.Of("--parallel-size", "CDC_PARALLEL_SIZE", "N", "Threads of the parallel runtime. Default: one less than processors, at least 1");
    private readonly TextOption _timeout = TextOption.Of("--timeout", "CDC_TIMEOUT", "SECONDS", "Time limit of an item. Default: none");
    private readonly TextOption _preserveOrder = TextOption.Of(
        "--preserve-order", "PRESERVE_ORDER", "BOOL", "Outcomes as an array in input order (true), or as a stream as items end (false). Default true");
    private readonly TextOption _warmup = TextOption.Of("--warmup", "WARMUP", "N", "Items of a warm-up pass. Default: a fiftieth of the count, at most 10,000");
    private readonly TextOption _json = TextOption.Of("--json", "JSON", "BOOL", "Print JSON and nothing else");
    private readonly TextOption _trials = TextOption.Of("--trials", null, "N", "How many windows of at least 0.3 s to measure for each arm. Default 15");
    private readonly TextOption _workload = TextOption.Of("--workload", null, "KIND", $"The work of an item: {BuiltIns.Names}. Default noop");
    private readonly TextOption _grain = TextOption.Of("--grain", null, "SIZE",
        "How much work: a time such as 10us or 1ms, or bytes such as 1KB for alloc and hash. Default 10us; io and delay 1ms; alloc 1KB; hash 64KB");
    private readonly TextOption _failRate = TextOption.Of("--fail-rate", null, "SHARE", "The share of items that fail, from 0 to 1. Default 0");
    private readonly TextOption _sweep = TextOption.Of("--sweep", null, "N,N,...", "Measure several parallel sizes and concurrencies in one run");
    private readonly TextOption _input = TextOption.Of("--input", null, "FILE", "Use the lines of a file as items; the work is their SHA-256 hash");
    private readonly Option<bool> _peers = new("--peers") { Description = "Also measure what one would write without Weir, in the same run" };
    private readonly Option<bool> _watch =
        new("--watch") { Description = "Show throughput, items in flight, limit, percentiles and errors during the run; this times each item" };

    private readonly Option<bool> _details = new("--details") { Description = "Print all settings, figures and comparisons, and not one screen" };

    public LoadOptionSet()
    {
        // As switches, they need no value.
        _json.Arity = ArgumentArity.ZeroOrOne;
        _preserveOrder.Arity = ArgumentArity.ZeroOrOne;
    }

    public void AddTo(Command command) => command.AddAll(
        _count, _batchSize, _runtime, _concurrency, _parallelSize, _timeout, _preserveOrder, _warmup, _json, _trials, _workload, _grain, _failRate, _sweep,
        _input, _peers, _watch, _details);

    /// <summary>Reads and checks all of them.</summary>
    public LoadSettings Read(ParseResult parsed, Func<string, string?> variables)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed, variables);

        RuntimeKind[] runtimes = Find(_runtime)?.OneOf(RuntimeWords) ?? RuntimeWords["all"];
        BuiltIn row = Find(_workload)?.OneOf(BuiltIns.All.ToDictionary(static w => w.Name, StringComparer.OrdinalIgnoreCase)) ?? BuiltIns.All[0];
        LineFile? input = Input(Find(_input), workloadGiven: Find(_workload) is not null);
        (TimeSpan grain, int grainBytes) = GrainOf(input is null ? row : null, Find(_grain));

        int count = Find(_count)?.WholeNumber(1, int.MaxValue) ?? input?.Count ?? CountOf(row.TimeOf(grain));
        OptionValue? batchSize = Find(_batchSize);
        int batch = batchSize?.WholeNumber(1, LargestBatch) ?? count;
        if (batch > LargestBatch)
        {
            throw new BadInputException($"A count above {Numbers.Grouped(LargestBatch)} needs a --batch-size, because each batch is held in memory.");
        }

        bool peers = parsed.GetValue(_peers);
        TimeSpan? timeout = Find(_timeout) is { } seconds ? TimeSpan.FromSeconds(seconds.Number(0.001, 86_400, "number of seconds")) : null;
        if (peers && timeout is not null)
        {
            throw new BadInputException("--peers cannot be used with a timeout (--timeout or CDC_TIMEOUT), because the peers have no time limit for an item.");
        }

        OptionValue? sweep = Find(_sweep);
        if (sweep is not null && runtimes is [RuntimeKind.Direct or RuntimeKind.Auto])
        {
            throw new BadInputException(
                $"--sweep needs --runtime concurrent, parallel or all; {(runtimes is [RuntimeKind.Direct] ? "direct has no size" : "auto chooses its own")}.");
        }

        return new LoadSettings
        {
            Count = count,
            BatchSize = Math.Min(batch, count),
            Runtimes = runtimes,
            Concurrency = Find(_concurrency)?.WholeNumber(1, MostConcurrency) ?? 100,
            ParallelSize = Find(_parallelSize)?.WholeNumber(1, MostThreads) ?? Math.Max(1, Environment.ProcessorCount - 1),
            Timeout = timeout,
            PreserveOrder = Find(_preserveOrder)?.FlagOrSwitch() ?? true,
            Warmup = Math.Min(Find(_warmup)?.WholeNumber(0, int.MaxValue) ?? Math.Min(count / 50, 10_000), count),
            Json = Find(_json)?.FlagOrSwitch() ?? false,
            Trials = Find(_trials)?.WholeNumber(1, 1000) ?? 15,
            Workload = input is null ? row.Name : "hash",
            Grain = grain,
            GrainBytes = grainBytes,
            FailRate = Find(_failRate)?.Number(0, 1) ?? 0,
            Sweep = sweep?.WholeNumbers(1, MostThreads) ?? [],
            Input = input,
            Peers = peers,
            Watch = parsed.GetValue(_watch),
            Details = parsed.GetValue(_details),
        };
    }

    private static LineFile? Input(OptionValue? given, bool workloadGiven) => given switch
    {
        null => null,
        _ when workloadGiven => throw new BadInputException("--input brings its own work, so --workload cannot be used with it."),
        _ => LineFile.Read(given),
    };

    private static (TimeSpan Time, int Bytes) GrainOf(BuiltIn? row, OptionValue? given) => row switch
    {
        { Grain: { } grain } => (given?.Time(grain.Least, grain.Most, $"{TextOf(grain.Usual)} for this workload") ?? grain.Usual, 0),
        { Parameter: { IsBytes: true } size } => (TimeSpan.Zero, (int)(given?.Bytes(size.Least, size.Most, $"1KB for --workload {row.Name}") ?? size.Usual)),
        _ when given is not null => throw new BadInputException(
            $"--grain needs --workload {BuiltIns.NamesOf(BuiltIns.All.Where(static w => w.Grain is not null || w.Parameter is { IsBytes: true }))}."),
        _ => (TimeSpan.Zero, 0),
    };

    private static string TextOf(TimeSpan time) => FormattableString.Invariant(
        $"{(time < TimeSpan.FromMilliseconds(1) ? time.TotalMicroseconds : time.TotalMilliseconds)}{(time < TimeSpan.FromMilliseconds(1) ? "us" : "ms")}");

    // Half a million items of a millisecond would take the direct runtime eight minutes a pass.
    private static int CountOf(TimeSpan item)
    {
        if (item == TimeSpan.Zero)
        {
            return DefaultCount;
        }

        double count = Math.Clamp(TimeSpan.FromSeconds(1) / item, 1, DefaultCount);
        double digit = Math.Pow(10, Math.Floor(Math.Log10(count) + 1e-9));
        return (int)(Math.Floor((count / digit) + 1e-9) * digit);
    }
}
