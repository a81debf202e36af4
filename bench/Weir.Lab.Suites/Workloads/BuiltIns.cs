namespace Weir.Lab.Suites.Workloads;

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
