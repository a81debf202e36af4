using System.Xml.Linq;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Toolchains.CsProj;

namespace Weir.Lab.Benchmarks.Building;

/// <summary>
/// Finds the project of the benchmarks from where the program is, too, not only from the current folder; and takes what is built as it is: the project that
/// BenchmarkDotNet makes refers to the assemblies beside the program, and not to their projects, all of which it would build once more.
/// </summary>
internal sealed class LabGenerator() : CsProjGenerator(LabToolchain.Moniker, null!, null!, null!, true)
{
    private static readonly string[] Roots = ["global.json", "*.sln", "*.slnx"];
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
        if (Path.GetDirectoryName(buildPartition.RepresentativeBenchmarkCase.Descriptor.Type.Assembly.Location) is { Length: > 0 } folder)
        {
            XDocument project = XDocument.Load(artifactsPaths.ProjectFilePath);
            ReferToAssemblies(project, folder);
            project.Save(artifactsPaths.ProjectFilePath);
        }
    }

    /// <summary>Puts references to all assemblies of a folder in the place of those to projects.</summary>
    internal static void ReferToAssemblies(XDocument project, string folder)
    {
        XElement[] projects = [.. project.Descendants("ProjectReference")];
        if (projects.Length > 0)
        {
            projects[0].Parent!.Add(Directory.EnumerateFiles(folder, "*.dll").Where(IsManaged).Order(StringComparer.Ordinal).Select(static path =>
                new XElement("Reference", new XAttribute("Include", Path.GetFileNameWithoutExtension(path)), new XElement("HintPath", path))));
            Array.ForEach(projects, static reference => reference.Remove());
        }
    }

    private static bool IsManaged(string path)
    {
        try
        {
            AssemblyName.GetAssemblyName(path);
            return true;
        }
        catch (BadImageFormatException)
        {
            return false;
        }
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
                    .Where(static file => Projects.Contains(Path.GetExtension(file), StringComparer.OrdinalIgnoreCase)).Take(2),
            ];
        return found.Length == 1 ? found[0] : null;
    }
}
