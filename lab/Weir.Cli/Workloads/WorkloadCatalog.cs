using System.Globalization;
using Weir.Cli.Hosting;
using Weir.Cli.Options;
using Weir.Cli.Workloads.UserCode;
using Weir.Lab.Formatting;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>The workloads that are built in, and those of users.</summary>
internal static class WorkloadCatalog
{
    public const int MostWorkers = 4096;

    private static readonly BuiltInParameter Capacity = new("capacity", 1024, static g => g.WholeNumber(1, 1_000_000));
    private static readonly BuiltInParameter Size = new("size", 64 * 1024, static g => (int)g.Bytes(1, 1 << 30));

    private static readonly BuiltIn[] All =
    [
        new("noop", "returns a number", static _ => new NoopWorkload()),
        new("cpu", "computes for a grain, and checks the result", static s => new CpuWorkload(GrainOf(s), s.StepsPerSecond), TimeSpan.FromMicroseconds(10)),
        new("io", "waits for a grain without holding a thread, on a timer finer than the platform's", static s => new IoWorkload(GrainOf(s)), TimeSpan.FromMilliseconds(1)),
        new("delay", "awaits Task.Delay of a grain, which counts in ticks of the platform's timer", static s => new DelayWorkload(GrainOf(s)), TimeSpan.FromMilliseconds(1)),
        new("yield", "awaits Task.Yield", static _ => new YieldWorkload()),
        new("channel", "moves an item through one bounded channel; groups producers and consumers", static s => new ChannelWorkload(NumberOf(s)), Parameter: Capacity),
        new("lock", "adds to a counter under one lock", static _ => new LockWorkload()),
        new("hash", "hashes memory with SHA-256 (64 KB, or size), and checks the result", static s => new HashWorkload(NumberOf(s)), Parameter: Size),
        new("http", "gets a page from a server in this process over the loopback", static _ => new HttpWorkload()),
        new("dataflow", "sends an item to one bounded ActionBlock of Weir.Dataflow", static s => new DataflowWorkload(NumberOf(s)), Parameter: Capacity),
        new("dataflow-inbox", "sends an item to one bounded ActionBlock of System.Threading.Tasks.Dataflow", static s => new InBoxDataflowWorkload(NumberOf(s)), Parameter: Capacity),
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

    /// <summary>The built-in workload of a specification.</summary>
    public static BuiltIn Of(WorkloadSpec spec) => All.First(w => w.Name == spec.Name);

    /// <summary>Reads a grain for a workload that has one.</summary>
    /// <exception cref="BadInputException">The workload has none, or the value cannot be used.</exception>
    public static TimeSpan Grain(string name, OptionValue given) => All.First(w => w.Name == name).Grain is null
        ? throw new BadInputException($"{given.Source} needs the workload cpu, io or delay; {name} has no grain.")
        : given.Time(TimeSpan.FromMicroseconds(1), TimeSpan.FromSeconds(10), "10us");

    /// <summary>The grain that a workload has when none is given; <see langword="null"/> for those without one.</summary>
    public static TimeSpan? OwnGrain(WorkloadSpec spec) => spec.Assembly is null ? Of(spec).Grain : null;

    /// <summary>What an operation of it does, with what is set of it but the parameters that the run varies.</summary>
    public static string Text(WorkloadSpec spec)
    {
        IEnumerable<string> set = spec.Values.Where(p => !spec.Varied.ContainsKey(p.Key)).Select(static p => $"{p.Key}={p.Value}");
        string text;
        if (spec.Assembly is not null)
        {
            text = $"{string.Join(", ", spec.Methods)} of {Path.GetFileName(spec.Assembly)}";
        }
        else
        {
            BuiltIn own = Of(spec);
            text = $"{own.Name}: {own.Text}";
            set = own.Grain is { } grain && !spec.Varied.ContainsKey("grain") ? [Numbers.Time(spec.Grain ?? grain), .. set] : set;
        }

        return set.Any() ? $"{text} ({string.Join(", ", set)})" : text;
    }

    /// <summary>What all processes that run it have to share.</summary>
    public static WorkloadSpec Calibrated(WorkloadSpec spec, Lazy<double> stepsPerSecond) =>
        spec is { Name: "cpu", Assembly: null } ? spec with { StepsPerSecond = stepsPerSecond.Value } : spec;

    /// <summary>Makes the workload.</summary>
    /// <exception cref="BadInputException">The assembly or its code cannot be used.</exception>
    public static IWorkload Create(WorkloadSpec spec) => spec.Assembly is null ? Of(spec).Create(spec) : Create(spec, UserAssembly.Load(spec.Assembly));

    /// <summary>The same of an assembly that is loaded already.</summary>
    /// <exception cref="BadInputException">Its code cannot be used.</exception>
    public static IWorkload Create(WorkloadSpec spec, UserAssembly assembly) => UserWorkloads.Create(spec.Name, assembly, spec.Methods, spec.Values);

    private static TimeSpan GrainOf(WorkloadSpec spec) => spec.Grain ?? Of(spec).Grain!.Value;

    private static int NumberOf(WorkloadSpec spec)
    {
        BuiltInParameter parameter = Of(spec).Parameter!;
        return spec.Values.TryGetValue(parameter.Name, out string? text) ? int.Parse(text, CultureInfo.InvariantCulture) : parameter.Default;
    }
}
