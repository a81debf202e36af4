using Weir.Cli.Formatting;
using Weir.Cli.Hosting;
using Weir.Cli.Options;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>The workloads that are built in.</summary>
internal static class WorkloadCatalog
{
    public const int MostWorkers = 4096;

    private static readonly (string Name, string Text, TimeSpan? Grain, Func<WorkloadSpec, IWorkload> Create)[] All =
    [
        ("noop", "returns a number", null, static _ => new NoopWorkload()),
        ("cpu", "computes for a grain, and checks the result", TimeSpan.FromMicroseconds(10), static s => new CpuWorkload(s.Grain ?? TimeSpan.FromMicroseconds(10), s.StepsPerSecond)),
        ("io", "waits for a grain without holding a thread, on a timer finer than the platform's", TimeSpan.FromMilliseconds(1), static s => new IoWorkload(s.Grain ?? TimeSpan.FromMilliseconds(1))),
        ("delay", "awaits Task.Delay of a grain, which counts in ticks of the platform's timer", TimeSpan.FromMilliseconds(1), static s => new DelayWorkload(s.Grain ?? TimeSpan.FromMilliseconds(1))),
        ("yield", "awaits Task.Yield", null, static _ => new YieldWorkload()),
        ("channel", "moves an item through one bounded channel; groups producers and consumers", null, static _ => new ChannelWorkload()),
        ("lock", "adds to a counter under one lock", null, static _ => new LockWorkload()),
        ("hash", "hashes 64 KB of memory with SHA-256, and checks the result", null, static _ => new HashWorkload()),
        ("http", "gets a page from a server in this process over the loopback", null, static _ => new HttpWorkload()),
        ("dataflow", "sends an item to one bounded ActionBlock of Weir.Dataflow", null, static _ => new DataflowWorkload()),
        ("dataflow-inbox", "sends an item to one bounded ActionBlock of System.Threading.Tasks.Dataflow", null, static _ => new InBoxDataflowWorkload()),
    ];

    /// <summary>The names, for help and messages.</summary>
    public static string Names => string.Join(", ", All[..^1].Select(static w => w.Name)) + $" or {All[^1].Name}";

    /// <summary>Name and meaning of each.</summary>
    public static IEnumerable<(string Name, string Text)> Texts => All.Select(static w => (w.Name, w.Text));

    /// <exception cref="BadInputException">There is no such workload.</exception>
    public static void Check(string name)
    {
        if (!All.Any(w => w.Name.Equals(name, StringComparison.OrdinalIgnoreCase)))
        {
            throw new BadInputException($"WORKLOAD must be {Names}, or a method with --assembly and --method; it is '{name}'.");
        }
    }

    /// <summary>Reads a grain for a workload that has one.</summary>
    /// <exception cref="BadInputException">The workload has none, or the value cannot be used.</exception>
    public static TimeSpan Grain(string name, OptionValue given) => All.First(w => w.Name == name).Grain is null
        ? throw new BadInputException($"{given.Source} needs the workload cpu, io or delay; {name} has no grain.")
        : given.Time(TimeSpan.FromMicroseconds(1), TimeSpan.FromSeconds(10), "10us");

    /// <summary>The grain that a workload has when none is given; <see langword="null"/> for those without one.</summary>
    public static TimeSpan? OwnGrain(WorkloadSpec spec) => spec.Assembly is null ? All.First(w => w.Name == spec.Name).Grain : null;

    /// <summary>What an operation of it does.</summary>
    public static string Text(WorkloadSpec spec)
    {
        if (spec.Assembly is not null)
        {
            return $"{string.Join(", ", spec.Methods)} of {Path.GetFileName(spec.Assembly)}";
        }

        (string name, string text, TimeSpan? grain, _) = All.First(w => w.Name == spec.Name);
        return grain is { } own ? $"{name}: {text} ({Numbers.Time(spec.Grain ?? own)})" : $"{name}: {text}";
    }

    /// <summary>What all processes that run it have to share.</summary>
    public static WorkloadSpec Calibrated(WorkloadSpec spec, Lazy<double> stepsPerSecond) =>
        spec is { Name: "cpu", Assembly: null } ? spec with { StepsPerSecond = stepsPerSecond.Value } : spec;

    /// <summary>Makes the workload.</summary>
    /// <exception cref="BadInputException">The assembly or its methods cannot be used.</exception>
    public static IWorkload Create(WorkloadSpec spec) =>
        spec.Assembly is null ? All.First(w => w.Name == spec.Name).Create(spec) : new MethodWorkload(spec);
}
