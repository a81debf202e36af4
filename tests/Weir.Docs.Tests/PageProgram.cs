using System.Collections.Immutable;
using System.Globalization;
using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Emit;
using Weir.Analyzers.Rules;

namespace Weir.Docs.Tests;

/// <summary>
/// The examples of a page as one console program: their statements one after the other, with the implicit usings of a new project, <c>using Weir;</c> and
/// <see cref="Given"/>. An example that returns something is a function of its own, whose result is written to the console; one with a namespace is a file of
/// its own.
/// </summary>
internal sealed partial class PageProgram
{
    private const string NewProject = "global using System; global using System.Collections.Generic; global using System.IO; global using System.Linq; "
        + "global using System.Net.Http; global using System.Threading; global using System.Threading.Tasks; ";

    private const string Usings = NewProject + "global using Weir; global using static Weir.Docs.Tests.Given;";

    private static readonly CSharpParseOptions Language = new(LanguageVersion.CSharp14);

    private static readonly Lazy<MetadataReference[]> References = new(static () =>
        [.. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator).Select(static p => MetadataReference.CreateFromFile(p))]);

    // What is referenced is read once: the compilation of each page begins with this one.
    private static readonly Lazy<CSharpCompilation> Empty = new(static () =>
    {
        CSharpCompilation empty = CSharpCompilation.Create("Examples", [], References.Value, Options(OutputKind.ConsoleApplication));
        _ = empty.Assembly;
        return empty;
    });

    private static readonly Lazy<ImmutableArray<DiagnosticAnalyzer>> Analyzers = new(static () =>
        [.. typeof(RunAnalyzer).Assembly.GetTypes().Where(static t => !t.IsAbstract && typeof(DiagnosticAnalyzer).IsAssignableFrom(t))
            .Select(static t => (DiagnosticAnalyzer)Activator.CreateInstance(t)!)]);

    private readonly List<SyntaxTree> _trees;
    private readonly string _name;

    private PageProgram(string page, string[] examples, string given = Usings)
    {
        _trees = [CSharpSyntaxTree.ParseText(given, Language)];
        _name = "Examples of " + page.Replace('/', '.');
        StringBuilder usings = new();
        StringBuilder statements = new();
        StringBuilder types = new();
        for (int i = 0; i < examples.Length; i++)
        {
            SyntaxTree tree = CSharpSyntaxTree.ParseText(examples[i], Language, $"{page}, example {i + 1}");
            CompilationUnitSyntax unit = (CompilationUnitSyntax)tree.GetRoot();
            if (unit.Members.Any(static m => m is BaseNamespaceDeclarationSyntax))
            {
                _trees.Add(tree);
                continue;
            }

            usings.Append(unit.Usings.ToFullString());
            GlobalStatementSyntax[] own = [.. unit.Members.OfType<GlobalStatementSyntax>()];
            string text = string.Concat(own.Select(static s => s.ToFullString()));
            IsRunnable |= own.Length > 0;
            statements.Append(Returns(own)
                ? string.Create(CultureInfo.InvariantCulture, $"async Task<object> Example{i}()\n{{\n{text}\n}}\n\nConsole.WriteLine(await Example{i}());\n")
                : text + "\n");
            types.Append(string.Concat(unit.Members.Where(static m => m is not GlobalStatementSyntax).Select(static m => m.ToFullString())));
        }

        Code = $"{usings}\n{statements}\n{types}";
        _trees.Add(CSharpSyntaxTree.ParseText(Code, Language, page));
    }

    /// <summary>Whether there is a statement to run.</summary>
    public bool IsRunnable { get; }

    public string Code { get; }

    public static PageProgram Of(string page) => new(page, DocPages.Examples(page));

    /// <summary>An example that is a whole program: with what a new project gives, and nothing else.</summary>
    public static PageProgram Whole(string name, string example) => new(name, [example], NewProject);

    /// <summary>
    /// Compiles it to be run, with sixty times the limits that it shows: a machine that holds a thread up for some seconds is not what the example is about.
    /// </summary>
    /// <returns>The errors; none if it is a program.</returns>
    public string[] Compile(out byte[] program)
    {
        using MemoryStream file = new();
        EmitResult made = Compilation(_trees.Select(static tree =>
            CSharpSyntaxTree.ParseText(Limit().Replace(tree.ToString(), "60 * $0"), Language, tree.FilePath))).Emit(file);
        program = file.ToArray();
        return [.. made.Diagnostics.Where(static d => d.Severity == DiagnosticSeverity.Error).Select(static d => d.ToString())];
    }

    /// <summary>What Weir's analyzers warn of in it.</summary>
    public async Task<string[]> WarningsAsync(CancellationToken cancellationToken) =>
        [.. (await Compilation(_trees).WithAnalyzers(Analyzers.Value).GetAnalyzerDiagnosticsAsync(cancellationToken))
            .Where(static d => d.Severity >= DiagnosticSeverity.Warning).Select(static d => d.ToString())];

    /// <summary>Runs it in this process, on a thread of the pool.</summary>
    /// <returns>What it wrote to the console.</returns>
    public static async Task<string> RunAsync(byte[] program, TimeSpan patience)
    {
        MethodInfo main = Assembly.Load(program).EntryPoint!;
        TextWriter console = Console.Out;
        using StringWriter output = new(CultureInfo.InvariantCulture);
        Console.SetOut(TextWriter.Synchronized(output));
        try
        {
            await Task.Run(() => main.Invoke(null, main.GetParameters().Length == 0 ? null : [Array.Empty<string>()])).WaitAsync(patience, TimeProvider.System);
        }
        finally
        {
            Console.SetOut(console);
        }

        return output.ToString();
    }

    private CSharpCompilation Compilation(IEnumerable<SyntaxTree> trees) =>
        Empty.Value.WithAssemblyName(_name).WithOptions(Options(IsRunnable ? OutputKind.ConsoleApplication : OutputKind.DynamicallyLinkedLibrary))
            .AddSyntaxTrees(trees);

    private static CSharpCompilationOptions Options(OutputKind kind) => new(kind, nullableContextOptions: NullableContextOptions.Enable);

    // Of items, of calls and of whole runs; not how long a batch fills, or a circuit stays open.
    [GeneratedRegex(@"(?<=\b(?!Open)\w*Timeout = |AddTimeout\(|CancellationTokenSource \w+ = new\()TimeSpan\.From(?:Milliseconds|Seconds|Minutes)\(\d+\)")]
    private static partial Regex Limit();

    // Of its own, not of a function inside it.
    private static bool Returns(GlobalStatementSyntax[] statements) => statements
        .SelectMany(static s => s.DescendantNodes(static n => n is not (AnonymousFunctionExpressionSyntax or LocalFunctionStatementSyntax)))
        .OfType<ReturnStatementSyntax>().Any(static r => r.Expression is not null);
}
