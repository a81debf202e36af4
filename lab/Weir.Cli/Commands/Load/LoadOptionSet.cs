namespace Weir.Cli.Commands.Load;

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
    private readonly TextOption _batchSize = TextOption.Of("--batch-size", "BATCH_SIZE", "N", "Items per call. Default: all");
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

    private readonly Option<bool> _details = new("--details") { Description = "Print all settings, figures and comparisons, not just one screen" };

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

/// <summary>All settings of a run, after defaults and environment variables are applied.</summary>
internal sealed record LoadSettings
{
    public required int Count { get; init; }

    public required int BatchSize { get; init; }

    /// <summary>The kinds of runtime that take part.</summary>
    public required IReadOnlyList<RuntimeKind> Runtimes { get; init; }

    public required int Concurrency { get; init; }

    public required int ParallelSize { get; init; }

    /// <summary>The time limit of an item.</summary>
    public required TimeSpan? Timeout { get; init; }

    public required bool PreserveOrder { get; init; }

    /// <summary>How many items a warm-up pass has.</summary>
    public required int Warmup { get; init; }

    public required bool Json { get; init; }

    public required int Trials { get; init; }

    /// <summary>The name of the work.</summary>
    public required string Workload { get; init; }

    /// <summary>How long the work of an item takes; zero when it has no length.</summary>
    public TimeSpan Grain { get; init; }

    /// <summary>How much memory the work of an item takes; zero when it takes none.</summary>
    public int GrainBytes { get; init; }

    /// <summary>The share of the items that fail.</summary>
    public required double FailRate { get; init; }

    /// <summary>The sizes of the runtimes, when several are compared; otherwise empty.</summary>
    public required IReadOnlyList<int> Sweep { get; init; }

    /// <summary>The user's own items.</summary>
    public LineFile? Input { get; init; }

    public required bool Peers { get; init; }

    /// <summary>Whether the run is shown live. This measures the latency of each item.</summary>
    public bool Watch { get; init; }

    /// <summary>Whether all that there is is printed, and not one screen.</summary>
    public bool Details { get; init; }

    /// <summary>Whether items wait, so that many should be in flight at once.</summary>
    public bool Waits => Row is { Waits: true };

    /// <summary>The workload of the catalogue; <see langword="null"/> when the items are the user's own.</summary>
    public BuiltIn? Row => Input is null ? BuiltIns.Find(Workload) : null;

    /// <summary>How many items the peers have in flight: the number of processors, or the concurrency if items wait.</summary>
    public int PeerDegree => Waits ? Concurrency : Environment.ProcessorCount;

    /// <summary>The word for the runtimes that take part.</summary>
    public string Runtime => Runtimes.Count > 1 ? "all" : Choices[0].Word;

    /// <summary>Makes the work.</summary>
    public ItemWorkload CreateWorkload() => Row is { } row
        ? row.Create(new BuiltInValues(Grain, GrainBytes > 0 ? GrainBytes : row.Parameter?.Usual ?? 0, null))
        : Input!.Workload();

    /// <summary>The runtimes that take part, in the order of the report.</summary>
    public IReadOnlyList<RuntimeChoice> Choices =>
    [
        .. Runtimes.SelectMany(kind => kind switch
        {
            RuntimeKind.Direct => [new RuntimeChoice(kind, 1, IsSwept: false)],
            RuntimeKind.Auto => [new RuntimeChoice(kind, Concurrency, IsSwept: false)],
            _ when Sweep.Count > 0 => Sweep.Select(size => new RuntimeChoice(kind, size, IsSwept: true)),
            RuntimeKind.Concurrent => [new RuntimeChoice(kind, Concurrency, IsSwept: false)],
            _ => [new RuntimeChoice(kind, ParallelSize, IsSwept: false)],
        }),
    ];
}

/// <summary>The lines of a file as bytes, without their line ends.</summary>
internal sealed class LineFile
{
    private readonly byte[] _bytes;
    private readonly List<(int Start, int Length)> _lines = [];

    private LineFile(string path, byte[] bytes)
    {
        Path = path;
        _bytes = bytes;
        int start = 0;
        while (start < bytes.Length)
        {
            int length = bytes.AsSpan(start).IndexOf((byte)'\n');
            int next = length < 0 ? bytes.Length : start + length + 1;
            length = length < 0 ? bytes.Length - start : length;
            if (length > 0 && bytes[start + length - 1] == '\r')
            {
                length--;
            }

            _lines.Add((start, length));
            start = next;
        }
    }

    /// <summary>The path as the user gave it.</summary>
    public string Path { get; }

    /// <summary>How many lines there are. An empty line is one.</summary>
    public int Count => _lines.Count;

    /// <summary>How many bytes the file has.</summary>
    public int Bytes => _bytes.Length;

    /// <summary>The work that hashes a line for each item.</summary>
    public LinesWorkload Workload() => new(Count, Bytes, line => _bytes.AsMemory(_lines[line].Start, _lines[line].Length));

    /// <exception cref="BadInputException">There is no such file, it cannot be read, is too large, or has no line.</exception>
    public static LineFile Read(OptionValue given)
    {
        if (!File.Exists(given.Text))
        {
            throw given.Bad("a file that exists");
        }

        try
        {
            byte[] bytes = File.ReadAllBytes(given.Text);
            return bytes.Length > 0 ? new LineFile(given.Text, bytes) : throw given.Bad("a file with at least one line");
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw given.Bad($"a file that can be read, of at most 2 GB ({e.Message.TrimEnd('.')})");
        }
    }
}
