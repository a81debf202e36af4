using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Toolchains.CsProj;

namespace Weir.Lab.Benchmarks.Net10;

/// <summary>Finds the project of the benchmarks from where the program is, too, not only from the current folder.</summary>
internal sealed class Net10Generator() : CsProjGenerator(Net10Toolchain.Moniker, null!, null!, null!, true)
{
    private static readonly string[] Roots = ["global.json", "*.sln", "*.slnx"];

    /// <inheritdoc/>
    protected override FileInfo GetProjectFilePath(Type benchmarkTarget, ILogger logger) =>
        Find(benchmarkTarget.Assembly.GetName().Name!, Path.GetDirectoryName(benchmarkTarget.Assembly.Location)) is string path
            ? new FileInfo(path)
            : base.GetProjectFilePath(benchmarkTarget, logger);

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
            : [.. Directory.EnumerateFiles(root.FullName, name + ".csproj", SearchOption.AllDirectories).Take(2)];
        return found.Length == 1 ? found[0] : null;
    }
}
