using System.Reflection;
using System.Runtime.Loader;

namespace Weir.Explore.Rewriting;

/// <summary>Where the rewritten copies are loaded. All else is what the process has.</summary>
internal sealed class RewrittenContext(IReadOnlyDictionary<string, string> copies) : AssemblyLoadContext("Weir.Explore")
{
    protected override Assembly? Load(AssemblyName assemblyName) =>
        copies.TryGetValue(assemblyName.Name!, out string? path) ? LoadFromAssemblyPath(path) : null;
}
