using System.Runtime.Loader;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>
/// Loads a user's assembly. It gets its dependencies from beside it, or else from the folder of the packages, whatever versions this program has, and shares
/// only the lab, whose types it implements.
/// </summary>
internal sealed class UserLoadContext(string path) : AssemblyLoadContext("user code")
{
    private static readonly string? Shared = typeof(IWorkload).Assembly.GetName().Name;

    private readonly AssemblyDependencyResolver _resolver = new(path);
    private readonly UserDependencies _packages = UserDependencies.Of(path);

    /// <summary>What the assembly refers to and is nowhere here, as a part of a sentence; <see langword="null"/> when there is nothing.</summary>
    public string? Missing(Assembly assembly)
    {
        // What this program has of a package is another version of it as likely as not.
        AssemblyName[] missing = [.. assembly.GetReferencedAssemblies().Where(name => name.Name != Shared &&
            PathOf(name) is null && !IsOfFramework(name) && (_packages.PackageOf(name) is not null || !IsOfThisProgram(name)))];
        return missing.Length == 0 ? null : string.Join(", ", missing.Select(name => _packages.PackageOf(name) ?? $"{name.Name} {name.Version}"));
    }

    protected override Assembly? Load(AssemblyName assemblyName) =>
        assemblyName.Name == Shared ? typeof(IWorkload).Assembly
        : PathOf(assemblyName) is { } found ? LoadFromAssemblyPath(found)
        : null;

    protected override nint LoadUnmanagedDll(string unmanagedDllName) =>
        (_resolver.ResolveUnmanagedDllToPath(unmanagedDllName) ?? _packages.NativePathOf(unmanagedDllName)) is { } found ? LoadUnmanagedDllFromPath(found) : 0;

    private string? PathOf(AssemblyName name) => _resolver.ResolveAssemblyToPath(name) ?? _packages.PathOf(name) ?? OfAnotherFramework(name);

    private static bool IsOfFramework(AssemblyName name) => File.Exists(Path.Combine(RuntimeEnvironment.GetRuntimeDirectory(), name.Name + ".dll"));

    private static bool IsOfThisProgram(AssemblyName name)
    {
        try
        {
            return Default.LoadFromAssemblyName(name) is not null;
        }
        catch (Exception e) when (e is FileNotFoundException or FileLoadException or BadImageFormatException)
        {
            return false;
        }
    }

    // This program has the base framework only; a user's code may need another one that is installed, such as that of ASP.NET.
    private static string? OfAnotherFramework(AssemblyName name)
    {
        DirectoryInfo own = new(RuntimeEnvironment.GetRuntimeDirectory());
        if (IsOfFramework(name) || own.Parent is not { Parent: { Exists: true } frameworks }
            || !Version.TryParse(own.Name.Split('-')[0], out Version? version))
        {
            return null;
        }

        return frameworks.EnumerateDirectories()
            .SelectMany(static f => f.EnumerateDirectories())
            .Select(static d => (Folder: d.FullName, Version: Version.TryParse(d.Name.Split('-')[0], out Version? other) ? other : null))
            .Where(d => d.Version?.Major == version.Major)
            .OrderBy(static d => d.Version)
            .Select(d => Path.Combine(d.Folder, name.Name + ".dll"))
            .LastOrDefault(File.Exists);
    }
}
