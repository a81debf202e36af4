namespace Weir.Lab.Catalog;

/// <summary>The catalogue of workloads. All commands and suites draw from it: a workload is a class, and a row here.</summary>
internal static class BuiltIns
{
    private static readonly BuiltInGrain Computing = new(TimeSpan.FromMicroseconds(10), TimeSpan.FromMicroseconds(0.1), TimeSpan.FromSeconds(10));
    private static readonly BuiltInGrain Waiting = new(TimeSpan.FromMilliseconds(1), TimeSpan.FromMicroseconds(100), TimeSpan.FromSeconds(10));
    private static readonly BuiltInGrain Both = new(TimeSpan.FromMicroseconds(10), TimeSpan.FromMicroseconds(1), TimeSpan.FromMilliseconds(100));
    private static readonly BuiltInParameter Capacity = new("capacity", 1024, 1, 1_000_000, IsBytes: false);

    private static readonly IReadOnlyList<BuiltIn> Rows =
    [
        new("noop", "returns a number", static _ => new NoopWorkload()),
        new("cpu", "computes for a grain, and checks the result", static v => new CpuWorkload(v.Grain, v.StepsPerSecond))
        {
            Grain = Computing, Computes = true,
        },
        new("io", "waits for a grain without holding a thread, on a timer finer than the platform's", static v => new IoWorkload(v.Grain))
        {
            Grain = Waiting, Waits = true,
        },
        new("delay", "awaits Task.Delay of a grain, which counts in ticks of the platform's timer", static v => new DelayWorkload(v.Grain))
        {
            Grain = Waiting, Waits = true,
        },
        new("yield", "awaits Task.Yield", static _ => new YieldWorkload()),
        new("mixed", "computes for a grain; one in ten also waits for a hundred grains",
            static v => new MixedWorkload("mixed", v.Grain, v.StepsPerSecond, MixedShape.Cache))
            { Grain = Both with { PerOperation = MixedShape.Cache.Grains }, Waits = true, Computes = true },
        new("halves", "computes for a grain; each second one, by chance, waits for a hundred grains instead",
            static v => new MixedWorkload("halves", v.Grain, v.StepsPerSecond, MixedShape.Halves))
            { Grain = Both with { PerOperation = MixedShape.Halves.Grains }, Waits = true, Computes = true },
        new("heavy-tail", "computes for a grain; one in a hundred, by chance, for a hundred grains",
            static v => new HeavyTailWorkload(v.Grain, v.StepsPerSecond)) { Grain = Both with { PerOperation = 2 }, Computes = true },
        new("alloc", "allocates memory (1 KB, or size), and keeps it for a while", static v => new AllocWorkload(v.Number))
        {
            Parameter = new("size", 1024, 32, 1024 * 1024, IsBytes: true),
        },
        new("channel", "moves an item through one bounded channel; groups producers and consumers", static v => new ChannelWorkload(v.Number))
        {
            Parameter = Capacity,
        },
        new("lock", "adds to a counter under one lock", static _ => new LockWorkload()),
        new("hash", "hashes memory with SHA-256 (64 KB, or size), and checks the result", static v => new HashWorkload(v.Number))
            { Parameter = new("size", 64 * 1024, 1, 1 << 30, IsBytes: true), Lasts = TimeSpan.FromMicroseconds(50) },
        new("http", "gets a page from a server in this process over the loopback", static _ => new HttpWorkload())
        {
            Lasts = TimeSpan.FromMicroseconds(100), Waits = true,
        },
        new("dataflow", "sends an item to one bounded ActionBlock of Weir.Dataflow", static v => new DataflowWorkload(v.Number)) { Parameter = Capacity },
        new("dataflow-inbox", "sends an item to one bounded ActionBlock of System.Threading.Tasks.Dataflow", static v => new InBoxDataflowWorkload(v.Number))
        {
            Parameter = Capacity,
        },
    ];

    /// <summary>All of them.</summary>
    public static IReadOnlyList<BuiltIn> All { get; private set; } = Rows;

    /// <summary>The names, for help and messages.</summary>
    public static string Names => NamesOf(All);

    /// <summary>Some names, as a message lists them.</summary>
    public static string NamesOf(IEnumerable<BuiltIn> rows)
    {
        string[] names = [.. rows.Select(static w => w.Name)];
        return $"{string.Join(", ", names[..^1])} or {names[^1]}";
    }

    /// <summary>The row of a name; <see langword="null"/> when there is none.</summary>
    public static BuiltIn? Find(string name) => All.FirstOrDefault(w => w.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    /// <summary>Adds a row while a test lasts.</summary>
    internal static void Add(BuiltIn row) => All = [.. Rows, row];

    /// <summary>Takes it out again.</summary>
    internal static void Reset() => All = Rows;
}

/// <summary>A row of the catalogue of workloads.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Text">What an operation of it does, or what is done for an item.</param>
/// <param name="Create">Makes it.</param>
internal sealed record BuiltIn(string Name, string Text, Func<BuiltInValues, ItemWorkload> Create)
{
    /// <summary>How much work an operation has; <see langword="null"/> for one that has no grain.</summary>
    public BuiltInGrain? Grain { get; init; }

    /// <summary>What else can be set of it; <see langword="null"/> for nothing.</summary>
    public BuiltInParameter? Parameter { get; init; }

    /// <summary>Whether an operation waits without its thread, so that many of them should be under way at once.</summary>
    public bool Waits { get; init; }

    /// <summary>Whether it computes for a given time, so that all processes have to share a calibration.</summary>
    public bool Computes { get; init; }

    /// <summary>About how long an operation without a grain takes; zero if half a million take a negligible time.</summary>
    public TimeSpan Lasts { get; init; }

    /// <summary>The names of its parameters.</summary>
    public IReadOnlyList<string> Parameters =>
        [.. Grain is null ? Array.Empty<string>() : ["grain"], .. Parameter is null ? Array.Empty<string>() : [Parameter.Name], "gc"];

    /// <summary>About how long an operation takes.</summary>
    public TimeSpan TimeOf(TimeSpan grain) => Grain is null ? Lasts : grain * Grain.PerOperation;

    /// <summary>The workload as it is when nothing is set.</summary>
    public ItemWorkload CreateUsual() => Create(new BuiltInValues(Grain?.Usual ?? TimeSpan.Zero, Parameter?.Usual ?? 0, null));
}

/// <summary>What is set of a workload.</summary>
/// <param name="Grain">The grain.</param>
/// <param name="Number">The parameter.</param>
/// <param name="StepsPerSecond">How fast the machine computes; <see langword="null"/> for what the workload measures itself.</param>
internal sealed record BuiltInValues(TimeSpan Grain, int Number, double? StepsPerSecond);

/// <summary>A length of time that is the size of an operation.</summary>
/// <param name="Usual">What it is when it is not set.</param>
/// <param name="Least">The shortest.</param>
/// <param name="Most">The longest.</param>
internal sealed record BuiltInGrain(TimeSpan Usual, TimeSpan Least, TimeSpan Most)
{
    /// <summary>How many of it an operation takes on average.</summary>
    public double PerOperation { get; init; } = 1;
}

/// <summary>A whole number that can be set of a workload.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Usual">What it is when it is not set.</param>
/// <param name="Least">The least.</param>
/// <param name="Most">The greatest.</param>
/// <param name="IsBytes">Whether it is a number of bytes.</param>
internal sealed record BuiltInParameter(string Name, int Usual, int Least, int Most, bool IsBytes);

/// <summary>One bounded block that all workers send to. The kinds differ only in the library of the block and in how it is called.</summary>
internal abstract class BlockWorkload(int capacity) : ItemWorkload
{
    private IDataflowBlock? _block;
    private long _processed;

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= async (item, _) =>
    {
        await SendAsync(_block!);
        return item;
    };

    /// <summary>How many items the block holds before a sender has to wait.</summary>
    protected int Capacity => capacity;

    public override ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _processed = 0;
        _block = Create(_ => _processed++);
        return default;
    }

    public override Operation CreateOperation(WorkerContext context) => OperationOf(_block!);

    public override string? Check(RoundTotals round)
    {
        _block!.Complete();
        _block.Completion.GetAwaiter().GetResult();
        return _processed == round.AllExecuted ? null : $"{_processed} items were processed of {round.AllExecuted} that were sent.";
    }

    /// <summary>A new block.</summary>
    protected abstract IDataflowBlock Create(Action<long> action);

    /// <summary>Sends an item to it.</summary>
    protected abstract Task<bool> SendAsync(IDataflowBlock block);

    /// <summary>Sends an item to a block that <see cref="Create"/> made.</summary>
    protected abstract Operation OperationOf(IDataflowBlock block);
}

/// <summary>A block of Weir.Dataflow.</summary>
internal sealed class DataflowWorkload(int capacity) : BlockWorkload(capacity)
{
    public override string Name => "dataflow";

    protected override IDataflowBlock Create(Action<long> action) =>
        new Weir.Dataflow.ActionBlock<long>(action, new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });

    protected override Task<bool> SendAsync(IDataflowBlock block) => ((Weir.Dataflow.ActionBlock<long>)block).SendAsync(1);

    protected override Operation OperationOf(IDataflowBlock block)
    {
        Weir.Dataflow.ActionBlock<long> own = (Weir.Dataflow.ActionBlock<long>)block;
        return Operation.OfAsync(() => own.SendAsync(1));
    }
}

/// <summary>A block of System.Threading.Tasks.Dataflow.</summary>
internal sealed class InBoxDataflowWorkload(int capacity) : BlockWorkload(capacity)
{
    public override string Name => "dataflow-inbox";

    protected override IDataflowBlock Create(Action<long> action) =>
        new ActionBlock<long>(action, new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });

    protected override Task<bool> SendAsync(IDataflowBlock block) => ((ActionBlock<long>)block).SendAsync(1);

    protected override Operation OperationOf(IDataflowBlock block)
    {
        ActionBlock<long> own = (ActionBlock<long>)block;
        return Operation.OfAsync(() => own.SendAsync(1));
    }
}
