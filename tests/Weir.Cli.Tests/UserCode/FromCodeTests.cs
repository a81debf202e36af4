using System.Diagnostics;
using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Weir.Cli.Tests.Support;
using Weir.Lab.Processes;
using Weir.TestKit;

namespace Weir.Cli.Tests.UserCode;

/// <summary>
/// The examples of docs/measuring-from-code.md together are one program, as the page says: it is compiled as a console project would be, and runs.
/// </summary>
public partial class FromCodeTests
{
    [Fact(Timeout = 300_000)]
    public async Task Page_Examples_AreAProgramThatRuns()
    {
        string page = await File.ReadAllTextAsync(Path.Combine(Repository.Root, "docs", "measuring-from-code.md"), TestContext.Current.CancellationToken);
        string program = string.Join('\n', Example().Matches(page).Select(static m => m.Groups[1].Value));
        using TemporaryDirectory directory = new();
        string assembly = Path.Combine(directory.Path, "Tryout.dll");
        string[] references = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator);
        string runtime = Path.GetDirectoryName(typeof(object).Assembly.Location)!;
        CSharpCompilation compilation = CSharpCompilation.Create(
            "Tryout",
            [
                CSharpSyntaxTree.ParseText("global using System; global using System.Collections.Generic; global using System.IO; global using System.Linq; "
                    + "global using System.Threading; global using System.Threading.Tasks;", cancellationToken: TestContext.Current.CancellationToken),
                CSharpSyntaxTree.ParseText(program, cancellationToken: TestContext.Current.CancellationToken),
            ],
            [.. references.Where(p => Path.GetDirectoryName(p) == runtime)
                .Append(typeof(Lab.Workers.IWorkload).Assembly.Location)
                .Select(static p => MetadataReference.CreateFromFile(p))],
            new CSharpCompilationOptions(
                OutputKind.ConsoleApplication, optimizationLevel: OptimizationLevel.Release, nullableContextOptions: NullableContextOptions.Enable));
        Microsoft.CodeAnalysis.Emit.EmitResult made = compilation.Emit(assembly, cancellationToken: TestContext.Current.CancellationToken);
        Assert.True(made.Success, string.Join('\n', made.Diagnostics));

        // What it needs beside it, and nothing else of the repository.
        foreach (string needed in Directory.EnumerateFiles(AppContext.BaseDirectory, "*.dll").Where(static f => Needed().IsMatch(Path.GetFileName(f))))
        {
            File.Copy(needed, directory.File(Path.GetFileName(needed)));
        }

        await File.WriteAllTextAsync(
            directory.File("Tryout.runtimeconfig.json"),
            "{\"runtimeOptions\":{\"framework\":{\"name\":\"Microsoft.NETCore.App\",\"version\":\"" + Environment.Version.Major + ".0.0\"}}}",
            TestContext.Current.CancellationToken);
        ChildEnd end = await ChildProgram.RunAsync(new ProcessStartInfo("dotnet", [assembly]), TestContext.Current.CancellationToken);

        Assert.True(end.Code == 0, end.Text);
        Assert.Contains("weir run   split", end.Output, StringComparison.Ordinal);
        Assert.Contains("split with 2 workers: ", end.Output, StringComparison.Ordinal);
        Assert.Matches("(?m)^8 rounds\\r?$", end.Output);
    }

    [GeneratedRegex("^```csharp\n(.*?)^```", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Example();

    [GeneratedRegex(@"^(Weir\.Lab|Perfolizer|Pragmastat.*)\.dll$")]
    private static partial Regex Needed();
}
