using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Weir.Lab.Workers;

namespace Weir.Cli.Tests.UserCode;

/// <summary>Assemblies of users, as they come out of a build.</summary>
internal static class CompiledCode
{
    private static readonly string[] Platform = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator);

    /// <summary>Compiles a source into a directory, and gives the path of the assembly.</summary>
    public static string Write(string directory, string name, string source, params string[] references)
    {
        Directory.CreateDirectory(directory);
        string path = Path.Combine(directory, name + ".dll");
        string runtime = Path.GetDirectoryName(typeof(object).Assembly.Location)!;
        CSharpCompilation compilation = CSharpCompilation.Create(
            name,
            [CSharpSyntaxTree.ParseText("using System; using System.Threading; using System.Threading.Tasks; using Weir.Lab.Workers;\n" + source)],
            [
                .. Platform.Where(p => Path.GetDirectoryName(p) == runtime)
                    .Append(typeof(IWorkload).Assembly.Location)
                    .Concat(references)
                    .Select(static p => MetadataReference.CreateFromFile(p)),
            ],
            new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: OptimizationLevel.Release));
        Microsoft.CodeAnalysis.Emit.EmitResult result = compilation.Emit(path);
        Assert.True(result.Success, string.Join('\n', result.Diagnostics));
        return path;
    }
}
