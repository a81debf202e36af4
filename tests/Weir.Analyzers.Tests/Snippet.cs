using System.Collections.Immutable;
using System.Globalization;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Text;
using Weir.Analyzers.Rules;

namespace Weir.Analyzers.Tests;

/// <summary>Code to be looked at: the body of a method, or a whole file, in which <c>[|</c> and <c>|]</c> stand around what is to be warned of.</summary>
internal sealed class Snippet
{
    private const string Before = """
        using System; using System.Collections.Concurrent; using System.Collections.Generic; using System.Linq; using System.Net.Http; using System.Text;
        using System.Threading; using System.Threading.Channels; using System.Threading.Tasks; using Weir; using Weir.Runtimes;
        sealed class Db
        {
            public Task InsertAsync(int x, CancellationToken token = default) => Task.CompletedTask;
            public Task UpsertAsync(int x, CancellationToken token = default) => Task.CompletedTask;
            public Task<int> BulkInsertAsync(IReadOnlyList<int> x, CancellationToken token = default) => Task.FromResult(1);
            public Task PayAsync(int x, string idempotencyKey, CancellationToken token = default) => Task.CompletedTask;
            public Task ChargeAsync(int x, CancellationToken token) => Task.CompletedTask;
            public ValueTask PublishAsync(int x, CancellationToken token) => default;
            public void Insert(int x) { }
        }
        static class Work
        {
            public static Task<int> LoadAsync(int x) => Task.FromResult(x);
            public static Task<int> LoadAsync(int x, CancellationToken token) => Task.FromResult(x);
            public static Task<int> OnlyAsync(int x) => Task.FromResult(x);
            public static ValueTask<int> ValueAsync(int x, CancellationToken token = default) => new(x);
            public static Task SaveAsync(int x) => Task.CompletedTask;
            public static int Compute(int x) => x;
        }
        sealed class Open : IAsyncDisposable
        {
            public ValueTask DisposeAsync() => default;
        }
        static class Opened
        {
            public static Task<Open> OpenAsync(int x, CancellationToken token = default) => Task.FromResult(new Open());
            public static Task<System.IO.Stream> ReadAsync(int x) => Task.FromResult<System.IO.Stream>(null!);
            public static IDisposable Get(int x) => null!;
        }
        sealed class C
        {
            private readonly List<int> _seen = [];
            private static readonly Dictionary<int, int> Known = [];
            private StringBuilder Text { get; } = new();
            private int _total;
            private static long Sum { get; set; }
            [ThreadStatic] private static int _own;
            void Sync(int[] items) { }
            async void FireAndForget(int x) => await Work.SaveAsync(x);
            void Note(int x) { }
            Task<Task> StartAsync(int x) => Task.FromResult(Task.CompletedTask);
            async Task M(
                int[] items, IAsyncEnumerable<int> later, Db db, HttpClient client, IExecutionRuntime runtime, ConcurrentRuntime concurrent,
                Shop.Orders orders, CancellationToken stop)
            {
                await Task.Yield();

        """;

    // What a database's library looks like from here.
    private const string Shop = """
        using System.Collections.Generic; using System.Linq; using System.Threading.Tasks;
        namespace Microsoft.EntityFrameworkCore
        {
            public static class EntityFrameworkQueryableExtensions
            {
                public static IAsyncEnumerable<T> AsAsyncEnumerable<T>(this IQueryable<T> query) => (IAsyncEnumerable<T>)query;
                public static Task<List<T>> ToListAsync<T>(this IQueryable<T> query) => Task.FromResult(query.ToList());
            }
        }
        namespace Shop
        {
            public class Orders { public IQueryable<int> Numbers => null!; public IOrderedQueryable<int> Sorted => null!; }
        }

        """;

    private static readonly MetadataReference[] References =
        [.. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator)
            .Where(static p => Path.GetFileName(p).StartsWith("System.", StringComparison.Ordinal)
                || Path.GetFileName(p) is "Weir.dll" or "Weir.Core.dll" or "Weir.Resilience.dll" or "Weir.Dataflow.dll")
            .Select(static p => MetadataReference.CreateFromFile(p))];

    private static readonly CSharpCompilationOptions Library = new(OutputKind.DynamicallyLinkedLibrary, nullableContextOptions: NullableContextOptions.Enable);

    // What is referenced is read once: each snippet is added to this one.
    private static readonly CSharpCompilation Empty = ReadReferences();

    /// <summary>All analyzers.</summary>
    public static ImmutableArray<DiagnosticAnalyzer> All { get; } =
        [.. typeof(RunAnalyzer).Assembly.GetTypes().Where(static t => !t.IsAbstract && typeof(DiagnosticAnalyzer).IsAssignableFrom(t))
            .Select(static t => (DiagnosticAnalyzer)Activator.CreateInstance(t)!)];

    private readonly string _text;

    private Snippet(string text, TextSpan[] marks)
    {
        _text = text;
        Marks = marks;
    }

    /// <summary>Where warnings belong.</summary>
    public IReadOnlyList<TextSpan> Marks { get; }

    /// <summary>The body of an asynchronous method.</summary>
    public static Snippet Body(string code) => Of($"{Before}{code}\n    }}\n}}\n");

    public static Snippet Of(string marked)
    {
        StringBuilder text = new();
        List<TextSpan> marks = [];
        int start = 0;
        for (int i = 0; i < marked.Length; i++)
        {
            string two = marked.Substring(i, Math.Min(2, marked.Length - i));
            if (two == "[|")
            {
                start = text.Length;
                i++;
            }
            else if (two == "|]")
            {
                marks.Add(TextSpan.FromBounds(start, text.Length));
                i++;
            }
            else
            {
                text.Append(marked[i]);
            }
        }

        return new(text.ToString(), [.. marks]);
    }

    /// <summary>The same with some characters left out, as it is while somebody types.</summary>
    public Snippet Without(int start, int length) => new(_text.Remove(start, Math.Min(length, _text.Length - start)), []);

    public int Length => _text.Length;

    public string TextAt(TextSpan span) => _text.Substring(span.Start, span.Length);

    /// <summary>What the compiler itself has against it.</summary>
    public IEnumerable<string> Errors() =>
        Compile().GetDiagnostics().Where(static d => d.Severity == DiagnosticSeverity.Error).Select(static d => d.GetMessage(CultureInfo.InvariantCulture));

    /// <summary>The warnings of one rule, or of all, and failures of the analyzers themselves.</summary>
    public async Task<Diagnostic[]> LookAsync(string? rule, CancellationToken cancellationToken)
    {
        ImmutableArray<Diagnostic> found = await Compile().WithAnalyzers(All).GetAnalyzerDiagnosticsAsync(cancellationToken);
        return [.. found.Where(d => rule is null || d.Id == rule || d.Id == "AD0001").OrderBy(static d => d.Location.SourceSpan.Start)];
    }

    /// <summary>The text after the fix of its first warning; <see langword="null"/> if there is none.</summary>
    public async Task<string?> FixAsync(string rule, CodeFixProvider fix, CancellationToken cancellationToken)
    {
        using AdhocWorkspace workspace = new();
        Document document = workspace.CurrentSolution
            .AddProject("Snippet", "Snippet", LanguageNames.CSharp).WithCompilationOptions(Library).AddMetadataReferences(References)
            .AddDocument("Shop.cs", Shop).Project
            .AddDocument("Snippet.cs", _text);
        Compilation compilation = (await document.Project.GetCompilationAsync(cancellationToken))!;
        ImmutableArray<Diagnostic> found = await compilation.WithAnalyzers(All).GetAnalyzerDiagnosticsAsync(cancellationToken);
        CodeAction? action = null;
        await fix.RegisterCodeFixesAsync(new CodeFixContext(document, found.First(d => d.Id == rule), (offered, _) => action ??= offered, cancellationToken));
        if (action is null)
        {
            return null;
        }

        ApplyChangesOperation change = (await action.GetOperationsAsync(cancellationToken)).OfType<ApplyChangesOperation>().Single();
        return (await change.ChangedSolution.GetDocument(document.Id)!.GetTextAsync(cancellationToken)).ToString();
    }

    private static CSharpCompilation ReadReferences()
    {
        CSharpCompilation empty = CSharpCompilation.Create("Snippet", [], References, Library);
        _ = empty.Assembly;
        return empty;
    }

    private CSharpCompilation Compile() => Empty.AddSyntaxTrees(CSharpSyntaxTree.ParseText(_text), CSharpSyntaxTree.ParseText(Shop));
}
