using System.Text.Json;
using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Exporters.Csv;
using BenchmarkDotNet.Exporters.Json;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using Weir.TestKit;

namespace Weir.Lab.Benchmarks.Tests.Support;

/// <summary>Runs benchmarks as a user would start them, and keeps what was printed and written.</summary>
internal sealed class BenchmarkRun : IDisposable
{
    // BenchmarkDotNet runs one at a time in a process.
    private static readonly SemaphoreSlim OneAtATime = new(1, 1);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("weir-bdn-");
    private readonly AccumulationLogger _log = new();

    private BenchmarkRun()
    {
    }

    public IReadOnlyList<Summary> Summaries { get; private set; } = [];

    public Summary Summary => Assert.Single(Summaries);

    public string Log => _log.GetLog();

    /// <summary>Runs in process, unless the arguments ask for something else.</summary>
    public static async Task<BenchmarkRun> InProcessAsync(Type type, params string[] args) =>
        await RunAsync(type, [.. args.Contains("--filter") ? args : ["--filter", "*", .. args], "--inProcess"]);

    public static Task<BenchmarkRun> RunAsync(Type type, params string[] args) =>
        RunAsync(config => LabBenchmarks.Run([type], args, config));

    /// <summary>Runs in process with BenchmarkDotNet's own switcher, which knows nothing of the lab but what the attributes say.</summary>
    public static Task<BenchmarkRun> WithoutLabAsync(Type type) => RunAsync(
        config => [.. BenchmarkSwitcher.FromTypes([type]).Run(["--filter", "*", "--job", "dry", "--inProcess"], config)]);

    /// <summary>Runs until a run has what a call that was held up leaves out, or the time of the test is over.</summary>
    public static async Task<BenchmarkRun> RepeatedAsync(Func<Task<BenchmarkRun>> start, Func<BenchmarkRun, bool> hasIt)
    {
        BenchmarkRun run = await start();
        while (!hasIt(run) && !TestContext.Current.CancellationToken.IsCancellationRequested)
        {
            run.Dispose();
            run = await start();
        }

        return run;
    }

    private static async Task<BenchmarkRun> RunAsync(Func<IConfig, IReadOnlyList<Summary>> start)
    {
        BenchmarkRun run = new();
        await OneAtATime.WaitAsync(TimeSpan.FromMinutes(5), CancellationToken.None);
        try
        {
            ManualConfig config = ManualConfig.CreateEmpty()
                .AddLogger(run._log)
                .AddColumnProvider(DefaultColumnProviders.Instance)
                .AddExporter(CsvExporter.Default, JsonExporter.FullCompressed, HtmlExporter.Default)
                .AddValidator([.. DefaultConfig.Instance.GetValidators().Where(static v => v.GetType().Name != "JitOptimizationsValidator")])
                .AddAnalyser([.. DefaultConfig.Instance.GetAnalysers()])
                .WithArtifactsPath(run._folder.FullName)
                .WithBuildTimeout(TimeSpan.FromMinutes(4))
                .WithOptions(ConfigOptions.DisableLogFile);

            // A thread of its own: BenchmarkDotNet blocks, and the pool is what is measured.
            TaskCompletionSource<IReadOnlyList<Summary>> end = new(TaskCreationOptions.RunContinuationsAsynchronously);
            new Thread(() =>
            {
                try
                {
                    end.SetResult(start(config));
                }
                catch (Exception error)
                {
                    end.SetException(error);
                }
            })
            { IsBackground = true }.Start();
            run.Summaries = await end.Task;
            return run;
        }
        finally
        {
            OneAtATime.Release();
        }
    }

    /// <summary>The text of the only file with this ending.</summary>
    public string FileEndingWith(string ending) =>
        File.ReadAllText(
            Assert.Single(_folder.EnumerateFiles("*", SearchOption.AllDirectories), f => f.Name.EndsWith(ending, StringComparison.Ordinal)).FullName);

    public bool HasFileEndingWith(string ending) =>
        _folder.EnumerateFiles("*", SearchOption.AllDirectories).Any(f => f.Name.EndsWith(ending, StringComparison.Ordinal));

    public JsonElement Json() => JsonDocument.Parse(FileEndingWith("full-compressed.json")).RootElement;

    /// <summary>A cell of the summary table, by the row's method and number of workers, and the column's name.</summary>
    public string Cell(string method, int? workers, string column)
    {
        string[] header = Summary.Table.FullHeader;
        string[] row = Summary.Table.FullContent.First(r =>
            r[Array.IndexOf(header, "Method")] == method && (workers is null || r[Array.IndexOf(header, "Workers")] == $"{workers}"));
        int at = Array.IndexOf(header, column);
        Assert.True(at >= 0, $"{column} is not among {string.Join(", ", header)}");
        return row[at];
    }

    public void AssertAllSucceeded()
    {
        Assert.NotEmpty(Summaries);
        Assert.False(Summaries.Any(static s => s.HasCriticalValidationErrors), Log);
        Assert.All(Summaries.SelectMany(static s => s.Reports), r => Assert.True(r.Success, Log));
    }

    public void Dispose() => _folder.Delete(recursive: true);
}
