using Weir.Lab.Workloads;

namespace Weir.Tables.Auto;

/// <summary>A kind of work: a workload of the catalogue, and how many items a call has.</summary>
/// <param name="Name">The name on the page.</param>
/// <param name="Text">What an item does.</param>
/// <param name="Row">The workload.</param>
/// <param name="Grain">Its grain; zero for one that has none.</param>
/// <param name="Count">Items of a call.</param>
/// <param name="Goal">The least share of the best fixed runtime's pace.</param>
internal sealed record AutoWork(string Name, string Text, string Row, TimeSpan Grain, int Count, double Goal = 0.9)
{
    private const int MostCount = 500_000;

    private static readonly TimeSpan Microsecond = TimeSpan.FromMicroseconds(1);

    private ItemWorkload? _workload;

    /// <summary>All kinds of work.</summary>
    public static IReadOnlyList<AutoWork> All { get; } =
    [
        new("noop", "returns the item", "noop", TimeSpan.Zero, 500_000),
        new("cpu-1us", "computes for 1 us", "cpu", Microsecond, 50_000),
        new("cpu-10us", "computes for 10 us", "cpu", 10 * Microsecond, 5_000),
        new("cpu-100us", "computes for 100 us", "cpu", 100 * Microsecond, 500),
        new("io-1ms", "waits for 1 ms", "io", 1_000 * Microsecond, 2_000),
        new("io-10ms", "waits for 10 ms", "io", 10_000 * Microsecond, 1_000),
        new("mixed", "one half, by chance, computes for 10 us; the other waits for 1 ms", "halves", 10 * Microsecond, 4_000, 1.0),
        new("heavy-tail", "computes for 10 us; one item in 100, by chance, for 1 ms", "heavy-tail", 10 * Microsecond, 2_500),
    ];

    /// <summary>A workload of the catalogue that is not on the page, with as many items as take about a tenth of a second.</summary>
    public static AutoWork Of(BuiltIn row)
    {
        TimeSpan grain = row.Grain?.Usual ?? TimeSpan.Zero;
        TimeSpan item = row.TimeOf(grain);
        int count = item > TimeSpan.Zero ? (int)Math.Clamp(TimeSpan.FromMilliseconds(100) / item, 10, MostCount) : MostCount;
        return new AutoWork(row.Name, row.Text, row.Name, grain, row.Waits ? count * 10 : count);
    }

    /// <summary>The items of a call.</summary>
    public int[] Items { get; } = [.. Enumerable.Range(0, Count)];

    /// <summary>Whether so many items wait that measuring the direct runtime would take minutes.</summary>
    public bool Waits => BuiltIns.Find(Row)!.Waits;

    /// <summary>The work of an item.</summary>
    public ItemCall Call => _workload!.Call;

    /// <summary>What the results of a call must come to.</summary>
    public PassResult Expected => ItemChecksum.Expected(_workload!.Expect, Count);

    /// <summary>Makes the workload.</summary>
    /// <param name="stepsPerSecond">How many steps of computing this machine does in a second.</param>
    /// <param name="cancellationToken">Cancels it.</param>
    public async Task SetupAsync(double stepsPerSecond, CancellationToken cancellationToken)
    {
        _workload = BuiltIns.Find(Row)!.Create(new BuiltInValues(Grain, BuiltIns.Find(Row)!.Parameter?.Usual ?? 0, stepsPerSecond));
        await _workload.SetupAsync(new WorkerRunSpec { Workload = Row }, cancellationToken);
        await _workload.BeginRoundAsync(cancellationToken);
    }

    /// <summary>Gives back what the workload needed.</summary>
    public ValueTask CleanupAsync() => _workload?.CleanupAsync() ?? default;
}
