using System.Xml.Linq;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Toolchains.CsProj;

namespace Weir.Lab.Benchmarks.Building;

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
