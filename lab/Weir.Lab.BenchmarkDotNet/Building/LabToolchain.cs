using System.Runtime.CompilerServices;
using System.Xml.Linq;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Toolchains.CsProj;
using BenchmarkDotNet.Toolchains.DotNetCli;
using BenchmarkDotNet.Toolchains.Parameters;
using BenchmarkDotNet.Toolchains.Results;

namespace Weir.Lab.Benchmarks.Building;

/// <summary>Builds and runs benchmarks out of process on .NET 10.</summary>
internal static class LabToolchain
{
    /// <summary>The name of the target framework.</summary>
    public const string Moniker = "net10.0";

    /// <summary>The toolchain. There is only one, because cases are built together that share a toolchain.</summary>
    public static readonly IToolchain Instance =
        new Toolchain(Moniker, new LabGenerator(), new DotNetCliBuilder(Moniker), new StoppableExecutor(new DotNetCliExecutor(null!)));
}

/// <summary>
/// Finds the project of the benchmarks from where the program is, too, not only from the current folder, and lets the program refer to the lab, whose engine
/// its code names, even if that project does not. All else is as BenchmarkDotNet makes it: the program refers to the project and is built with it, so that it
/// has the project's frameworks, native libraries and content.
/// </summary>
internal sealed class LabGenerator() : CsProjGenerator(LabToolchain.Moniker, null!, null!, null!, true)
{
    private static readonly string[] Roots = ["global.json", "*.sln", "*.slnx"];
    private static readonly Assembly[] Own = [typeof(LabGenerator).Assembly, typeof(LatencySummary).Assembly];
    private static readonly string[] Projects = [".csproj", ".fsproj", ".vbproj"];

    /// <inheritdoc/>
    protected override FileInfo GetProjectFilePath(Type benchmarkTarget, ILogger logger) =>
        Find(benchmarkTarget.Assembly.GetName().Name!, Path.GetDirectoryName(benchmarkTarget.Assembly.Location)) is string path
            ? new FileInfo(path)
            : base.GetProjectFilePath(benchmarkTarget, logger);

    /// <inheritdoc/>
    protected override void GenerateProject(BuildPartition buildPartition, ArtifactsPaths artifactsPaths, ILogger logger)
    {
        base.GenerateProject(buildPartition, artifactsPaths, logger);
        XDocument project = XDocument.Load(artifactsPaths.ProjectFilePath);
        project.Root!.Add(new XElement("ItemGroup", Array.ConvertAll(Own, static assembly => new XElement(
            "Reference", new XAttribute("Include", assembly.GetName().Name!), new XElement("HintPath", assembly.Location)))));
        project.Save(artifactsPaths.ProjectFilePath);
    }

    /// <summary>The only project of a name below the root that a folder belongs to; <see langword="null"/> when there is none or more than one.</summary>
    internal static string? Find(string name, string? folder)
    {
        DirectoryInfo? root = string.IsNullOrEmpty(folder) ? null : new DirectoryInfo(folder);
        while (root is not null && !Roots.Any(pattern => root.EnumerateFiles(pattern).Any()))
        {
            root = root.Parent;
        }

        string[] found = root is null
            ? []
            : [
                .. Directory.EnumerateFiles(root.FullName, name + ".*proj", SearchOption.AllDirectories)
                    .Where(file => Path.GetFileNameWithoutExtension(file) == name
                        && Projects.Contains(Path.GetExtension(file), StringComparer.OrdinalIgnoreCase))
                    .Take(2),
            ];
        return found.Length == 1 ? found[0] : null;
    }
}

/// <summary>
/// Runs nothing more after the run was asked to stop, so that BenchmarkDotNet, which cannot be stopped, summarizes what was measured until then.
/// </summary>
internal sealed class StoppableExecutor(IExecutor executor) : IExecutor
{
    public ExecuteResult Execute(ExecuteParameters executeParameters) => RunSettings.Current.Stop.IsCancellationRequested
        ? new ExecuteResult(
            foundExecutable: true, exitCode: -1, processId: null, results: [], prefixedLines: [], standardOutput: [], executeParameters.LaunchIndex)
        : executor.Execute(executeParameters);
}

/// <summary>
/// Gives the lab's toolchain to jobs that would be built for .NET 10 with BenchmarkDotNet's own. Jobs in process, and those for other runtimes, stay as they
/// are.
/// </summary>
internal sealed class ToolchainJobs
{
    // For no longer than BenchmarkDotNet keeps the job.
    private readonly ConditionalWeakTable<Job, Job> _changed = [];

    public BenchmarkCase UseLab(BenchmarkCase benchmark)
    {
        if (!NeedsLab(benchmark.Job))
        {
            return benchmark;
        }

        // The same job for all its cases, so that they are built together.
        Job job = _changed.GetValue(benchmark.Job, static job =>
        {
            Job changed = job.UnfreezeCopy();
            changed.Environment.Runtime = CoreRuntime.Core10_0;
            changed.Infrastructure.Toolchain = LabToolchain.Instance;
            return changed.Freeze();
        });
        return BenchmarkCase.Create(benchmark.Descriptor, job, benchmark.Parameters, benchmark.Config);
    }

    private static bool NeedsLab(Job job)
    {
        if (job.Infrastructure.HasValue(InfrastructureMode.ToolchainCharacteristic))
        {
            return CsProjCoreToolchain.NetCoreApp10_0.Equals(job.Infrastructure.Toolchain);
        }

        return job.Environment.HasValue(EnvironmentMode.RuntimeCharacteristic)
            ? job.Environment.Runtime?.RuntimeMoniker == RuntimeMoniker.Net10_0
            : Environment.Version.Major == 10;
    }
}

/// <summary>Which version of BenchmarkDotNet is loaded. Its engines, which the lab replaces, change with each minor version.</summary>
internal static class LoadedVersion
{
    /// <exception cref="NotSupportedException">It is not one that the lab was made for.</exception>
    public static void ThrowIfOther()
    {
        Version built = typeof(LoadedVersion).Assembly.GetReferencedAssemblies().First(static a => a.Name == nameof(BenchmarkDotNet)).Version!;
        if (Problem(built, typeof(IConfig).Assembly.GetName().Version!) is string problem)
        {
            throw new NotSupportedException(problem);
        }
    }

    /// <summary>What is wrong with a version; <see langword="null"/> when nothing is.</summary>
    internal static string? Problem(Version built, Version loaded) => loaded.Major == built.Major && loaded.Minor == built.Minor && loaded.Build >= built.Build
        ? null
        : $"Weir.Lab.BenchmarkDotNet needs BenchmarkDotNet {built.ToString(3)} or a later {built.ToString(2)}, and {loaded.ToString(3)} is loaded: "
            + $"reference version {built.ToString(3)}.";
}
