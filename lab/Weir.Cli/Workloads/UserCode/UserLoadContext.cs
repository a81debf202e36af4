using System.Runtime.Loader;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>
/// Loads a user's assembly. It gets the dependencies beside it, whatever versions this program has, and shares only the lab, whose types it implements.
/// </summary>
internal sealed class UserLoadContext(string path) : AssemblyLoadContext("user code")
{
    private static readonly string? Shared = typeof(IWorkload).Assembly.GetName().Name;

    private readonly AssemblyDependencyResolver _resolver = new(path);

    protected override Assembly? Load(AssemblyName assemblyName) =>
        assemblyName.Name == Shared ? typeof(IWorkload).Assembly
        : (_resolver.ResolveAssemblyToPath(assemblyName) ?? OfAnotherFramework(assemblyName)) is { } found ? LoadFromAssemblyPath(found)
        : null;

    protected override nint LoadUnmanagedDll(string unmanagedDllName) =>
        _resolver.ResolveUnmanagedDllToPath(unmanagedDllName) is { } found ? LoadUnmanagedDllFromPath(found) : 0;

    // This program has the base framework only; a user's code may need another one that is installed, such as that of ASP.NET.
    private static string? OfAnotherFramework(AssemblyName name)
    {
        DirectoryInfo own = new(RuntimeEnvironment.GetRuntimeDirectory());
        if (File.Exists(Path.Combine(own.FullName, name.Name + ".dll")) || own.Parent is not { Parent: { Exists: true } frameworks }
            || !Version.TryParse(own.Name.Split('-')[0], out Version? version))
        {
            return null;
        }

        return frameworks.EnumerateDirectories()
            .SelectMany(static f => f.EnumerateDirectories())
            .Where(d => Version.TryParse(d.Name.Split('-')[0], out Version? other) && other.Major == version.Major)
            .Select(d => Path.Combine(d.FullName, name.Name + ".dll"))
            .LastOrDefault(File.Exists);
    }
}
