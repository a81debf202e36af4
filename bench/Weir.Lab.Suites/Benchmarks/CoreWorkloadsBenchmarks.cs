namespace Weir.Lab.Suites;

/// <summary>Each workload of the catalogue over a list.</summary>
[SuiteInfo(95, "Each workload of the catalogue, limit 8", "None: the figures are for information.", OnlyByName = true)]
public class CoreWorkloadsBenchmarks : ListSuite
{
    private ItemWorkload? _workload;

    /// <summary>The names of the catalogue, but for the blocks: they have suites of their own, which a filter by their name is to select alone.</summary>
    public static IEnumerable<string> Names =>
        BuiltIns.All.Select(static row => row.Name).Where(static name => !name.StartsWith("dataflow", StringComparison.Ordinal));

    /// <summary>The workload.</summary>
    [ParamsSource(nameof(Names))]
    public string Workload { get; set; } = "";

    private protected override int Limit => 8;

    /// <summary>Ends what the workload has running.</summary>
    [GlobalCleanup]
    public void CleanUp() => _workload?.CleanupAsync().AsTask().GetAwaiter().GetResult();

    private protected override ItemCall MakeCall()
    {
        CleanUp();
        ItemWorkload workload = BuiltIns.Find(Workload)!.CreateUsual();
        _workload = workload;
        workload.SetupAsync(new WorkerRunSpec { Workload = Workload, Groups = [new WorkerGroup(WorkerRunSpec.DefaultGroup, Limit)] }, CancellationToken.None)
            .AsTask()
            .GetAwaiter()
            .GetResult();
        workload.BeginRoundAsync(CancellationToken.None).AsTask().GetAwaiter().GetResult();
        return workload.Call;
    }
}
