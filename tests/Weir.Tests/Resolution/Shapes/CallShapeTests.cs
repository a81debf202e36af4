// In Release only: the compiler asks for the declarations alone, which are the same in Debug.
#if !DEBUG
using System.Globalization;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Tests.Resolution.Shapes;

/// <summary>
/// Does what one writes for the call of an item compile, for every operator, source and runtime, with each version of the language since C# 13?
/// </summary>
public class CallShapeTests
{
    private const string Preamble = """
        using System; using System.Collections.Generic; using System.Linq; using System.Net.Http; using System.Threading; using System.Threading.Channels;
        using System.Threading.Tasks; using Weir; using Weir.Runtimes;
        static class Of<T>
        {
            public static Task<string> TaskOf(T item, CancellationToken token) => null!;
            public static ValueTask<string> ValueOf(T item, CancellationToken token) => default;
            public static Task<string> TaskOf(T item) => null!;
            public static ValueTask<string> ValueOf(T item) => default;
            public static Task<string> OnlyTaskOf(T item) => null!;
            public static ValueTask<string> OnlyValueOf(T item) => default;
            public static Task<string> TaskOrNoToken(T item) => null!;
            public static Task<string> TaskOrNoToken(T item, CancellationToken token) => null!;
            public static ValueTask<string> ValueOrNoToken(T item) => default;
            public static ValueTask<string> ValueOrNoToken(T item, CancellationToken token) => default;
            public static string SyncOf(T item) => "";
            public static string SyncWithToken(T item, CancellationToken token) => "";
            public static void VoidWithToken(T item, CancellationToken token) { }
            public static HashSet<T> Set => null!;
            public static Task Task(T item, CancellationToken token) => null!;
            public static ValueTask Value(T item, CancellationToken token) => default;
            public static Task OnlyTask(T item) => null!;
            public static ValueTask OnlyValue(T item) => default;
            public static void Void(T item) { }
        }
        abstract class Both : IQueryable<int>, IAsyncEnumerable<int>
        {
            public abstract Type ElementType { get; }
            public abstract System.Linq.Expressions.Expression Expression { get; }
            public abstract IQueryProvider Provider { get; }
            public abstract IEnumerator<int> GetEnumerator();
            System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator();
            public abstract IAsyncEnumerator<int> GetAsyncEnumerator(CancellationToken token = default);
        }
        static class Calls
        {
            static void Sink<T>(T value) { }

        """;

    private const string Parameters = "int[] array, IAsyncEnumerable<int> later, ChannelReader<int> channel, Both both, string[] texts, HttpClient client, "
        + "IExecutionRuntime runtime, DirectRuntime direct, AutoRuntime auto, ParallelRunOptions options, CancellationToken token";

    private static readonly CSharpCompilationOptions Library = new(OutputKind.DynamicallyLinkedLibrary, nullableContextOptions: NullableContextOptions.Enable);

    private static readonly MetadataReference[] References =
    [
        .. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator)
            .Where(static p => Path.GetFileName(p).StartsWith("System.", StringComparison.Ordinal)
                || Path.GetFileName(p) is "Weir.dll" or "Weir.Core.dll" or "Weir.Resilience.dll")
            .Select(static p => MetadataReference.CreateFromFile(p)),
    ];

    // What is referenced is read once: each compilation begins with this one.
    internal static readonly Lazy<CSharpCompilation> Empty = new(static () =>
    {
        CSharpCompilation empty = CSharpCompilation.Create("Calls", [], References, Library);
        _ = empty.Assembly;
        return empty;
    });

    [Theory(Timeout = 300_000)]
    [InlineData(LanguageVersion.CSharp13)]
    [InlineData(LanguageVersion.CSharp14)]
    public async Task Calls_OfEachShape_MeanOneOverload(LanguageVersion version)
    {
        await Task.Yield();
        Written[] calls = [.. AllCalls()];
        (CSharpCompilation compilation, InvocationExpressionSyntax[] written) = Compile(version, calls);
        Assert.Empty(Errors(compilation).Take(20)
            .Select(e => $"{e.GetMessage(CultureInfo.InvariantCulture)} at {e.Location.SourceTree!.GetText().Lines[LineOf(e)]}"));
        SemanticModel model = compilation.GetSemanticModel(compilation.SyntaxTrees[0]);
        List<string> wrong = [];
        foreach ((Written call, InvocationExpressionSyntax expression) in calls.Zip(written))
        {
            IMethodSymbol bound = (IMethodSymbol)model.GetSymbolInfo(expression, TestContext.Current.CancellationToken).Symbol!;
            string source = (bound.ReducedFrom ?? bound).Parameters[0].Type.Name;
            if (KindOf(bound) != call.Meant || (call.Source is { } meant && meant != source))
            {
                wrong.Add($"{call.Code}: {bound}");
            }
        }

        Assert.Empty(wrong);
        Assert.True(calls.Length > 200, $"{calls.Length} calls.");
    }

    [Fact(Timeout = 300_000)]
    public async Task Actions_WithAResultThatIsNotLeftOut_DoNotCompile()
    {
        await Task.Yield();
        Written[] calls =
        [
            .. CallShape.WithAResultTooMany.SelectMany(static s => new[]
            {
                Of($"array.ForEachParallelAsync({s.Code})", "int", s.Instead, null),
                Of($"later.ForEachParallelOutcomesAsync({s.Code}, options)", "int", s.Instead, null),
                Of($"channel.ForEachBatchParallelAsync(2, {s.Code})", "IReadOnlyList<int>", s.Instead, null),
            }),
        ];
        (CSharpCompilation compilation, _) = Compile(LanguageVersion.CSharp14, calls);
        Assert.Equal(calls.Length, Errors(compilation).Select(LineOf).Distinct().Count());
    }

    [Fact]
    public void AsyncLambdas_OfEveryShape_AreNeverAsyncVoid() =>
        Assert.DoesNotContain(
            CallShape.Actions.Concat(CallShape.Selectors),
            static s => s.Code.Contains("async", StringComparison.Ordinal) && s.Meant == CallKind.Synchronous);

    internal static Diagnostic[] Errors(CSharpCompilation compilation) =>
        [.. compilation.GetDiagnostics(TestContext.Current.CancellationToken).Where(static d => d.Severity == DiagnosticSeverity.Error)];

    internal static int LineOf(Diagnostic error) => error.Location.GetLineSpan().StartLinePosition.Line;

    private static (CSharpCompilation Compilation, InvocationExpressionSyntax[] Calls) Compile(LanguageVersion version, Written[] calls)
    {
        StringBuilder code = new(Preamble);
        for (int i = 0; i < calls.Length; i++)
        {
            code.Append(CultureInfo.InvariantCulture, $"    static void M{i}({Parameters}) => Sink({calls[i].Code});\n");
        }

        SyntaxTree tree = CSharpSyntaxTree.ParseText(
            code.Append('}').ToString(), new CSharpParseOptions(version), cancellationToken: TestContext.Current.CancellationToken);
        CSharpCompilation compilation = Empty.Value.AddSyntaxTrees(tree);
        IEnumerable<MethodDeclarationSyntax> methods = tree.GetRoot(TestContext.Current.CancellationToken).DescendantNodes()
            .OfType<MethodDeclarationSyntax>().Where(static m => m.Identifier.Text[0] == 'M');
        return (compilation, [.. methods.Select(static m => ((InvocationExpressionSyntax)m.ExpressionBody!.Expression).ArgumentList.Arguments[0].Expression)
            .Cast<InvocationExpressionSyntax>()]);
    }

    private static CallKind KindOf(IMethodSymbol bound)
    {
        INamedTypeSymbol call = (INamedTypeSymbol)bound.Parameters.First(static p => p.Type.TypeKind == TypeKind.Delegate).Type;
        bool token = call.DelegateInvokeMethod!.Parameters.Length == 2;
        ITypeSymbol result = call.DelegateInvokeMethod.ReturnType;
        return result.Name switch
        {
            "ValueTask" => token ? CallKind.ValueTask : CallKind.NoTokenValueTask,
            "Task" => token ? CallKind.Task : CallKind.NoTokenTask,
            _ => token ? CallKind.SynchronousWithToken : CallKind.Synchronous,
        };
    }

    private static IEnumerable<Written> AllCalls()
    {
        // Every verb, in each way of calling, over one source or another.
        (string Name, string Type)[] sources =
            [("array", "IEnumerable"), ("later", "IAsyncEnumerable"), ("channel", "ChannelReader"), ("both", "IAsyncEnumerable")];
        foreach (CallShape shape in CallShape.Selectors)
        {
            yield return Of($"array.SelectParallelAsync({shape.Code}, options, token)", "int", shape, "IEnumerable");
            yield return Of($"array.SelectParallelAsync({shape.Code}, new() {{ MaxRetries = 3 }})", "int", shape, "IEnumerable");
            yield return Of($"runtime.ProcessManyAsync(array, {shape.Code}, new() {{ TotalTimeout = default }})", "int", shape, null);
            foreach ((string name, string type) in sources)
            {
                yield return Of($"{name}.SelectParallelAsync({shape.Code})", "int", shape, type);
            }

            foreach (string verb in new[] { "SelectParallelStreamAsync", "SelectParallelOutcomesAsync" })
            {
                yield return Of($"array.{verb}({shape.Code})", "int", shape, "IEnumerable");
                yield return Of($"later.PartitionBy(x => x % 2).{verb}({shape.Code})", "int", shape, "IAsyncEnumerable");
            }

            yield return Of($"array.PartitionBy(x => x % 2).SelectParallelAsync({shape.Code})", "int", shape, "IEnumerable");
            yield return Of($"array.BatchParallelAsync(2, {shape.Code})", "IReadOnlyList<int>", shape, "IEnumerable");
            yield return Of($"later.PartitionBatchesBy(x => x.Count).BatchParallelAsync(2, {shape.Code})", "IReadOnlyList<int>", shape, "IAsyncEnumerable");
            yield return Of($"channel.BatchParallelStreamAsync(2, {shape.Code}, options)", "IReadOnlyList<int>", shape, "ChannelReader");
            yield return Of($"runtime.ProcessManyAsync(array, {shape.Code})", "int", shape, null);
            yield return Of($"direct.ProcessManyAsync(array.PartitionBy(x => x % 2), {shape.Code})", "int", shape, null);
            yield return Of($"runtime.ProcessManyStreamAsync(array, {shape.Code}, orderedOutput: true)", "int", shape, null);
            yield return Of($"auto.ProcessManyStreamAsync(array.PartitionBy(x => x % 2), {shape.Code}, true)", "int", shape, null);
            yield return Of($"auto.ProcessManyWithDecisionsAsync(array, {shape.Code})", "int", shape, null);
            yield return Of($"auto.ProcessManyWithDecisionsAsync(both, {shape.Code})", "int", shape, null);
            yield return Of($"runtime.ProcessManyAsync(later, {shape.Code})", "int", shape, null);
            yield return Of($"direct.ProcessManyAsync(channel, {shape.Code}, new() {{ TotalTimeout = default }})", "int", shape, null);
            yield return Of($"direct.ProcessManyAsync(later.PartitionBy(x => x % 2), {shape.Code})", "int", shape, null);
            yield return Of($"auto.ProcessManyStreamAsync(later, {shape.Code}, orderedOutput: true)", "int", shape, null);
            yield return Of($"runtime.ProcessManyStreamAsync(channel.PartitionBy(x => x % 2), {shape.Code})", "int", shape, null);
        }

        foreach (CallShape shape in CallShape.Actions.Concat(CallShape.WithAResultTooMany.Select(static s => s.Instead)))
        {
            foreach ((string name, string type) in sources)
            {
                yield return Of($"{name}.ForEachParallelAsync({shape.Code})", "int", shape, type);
            }

            yield return Of($"array.PartitionBy(x => x % 2).ForEachParallelAsync({shape.Code})", "int", shape, "IEnumerable");
            yield return Of($"array.ForEachParallelOutcomesAsync({shape.Code})", "int", shape, "IEnumerable");
            yield return Of($"array.ForEachParallelAsync({shape.Code}, new() {{ MaxRetries = 3 }})", "int", shape, "IEnumerable");
            yield return Of($"array.ForEachParallelOutcomesStreamAsync({shape.Code})", "int", shape, "IEnumerable");
            yield return Of($"both.ForEachParallelOutcomesStreamAsync({shape.Code}, options)", "int", shape, "IAsyncEnumerable");
            yield return Of($"runtime.ProcessManyAsync(array, {shape.Code})", "int", shape, null);
            yield return Of($"runtime.ProcessManyAsync(later, {shape.Code})", "int", shape, null);
            yield return Of($"auto.ProcessManyAsync(channel, {shape.Code})", "int", shape, null);
            yield return Of($"array.ForEachBatchParallelAsync(2, {shape.Code})", "IReadOnlyList<int>", shape, "IEnumerable");
            yield return Of(
                $"later.PartitionBatchesBy(x => x.Count).ForEachBatchParallelAsync(2, {shape.Code})", "IReadOnlyList<int>", shape, "IAsyncEnumerable");
            yield return Of($"channel.ForEachBatchParallelAsync(2, {shape.Code}, options)", "IReadOnlyList<int>", shape, "ChannelReader");
        }

        // Where the type of the result cannot be inferred, and methods of the platform.
        yield return new("array.SelectParallelAsync<int, int>((x, t) => throw new Exception())", CallKind.ValueTask, "IEnumerable");
        yield return new("array.SelectParallelAsync<int, int>((x, t) => default)", CallKind.ValueTask, "IEnumerable");
        yield return new("array.SelectParallelAsync<int, int>((x, t) => new(x))", CallKind.ValueTask, "IEnumerable");
        yield return new("array.SelectParallelAsync<int, string>(Of<int>.OnlyTaskOf)", CallKind.NoTokenTask, "IEnumerable");
        yield return new("array.SelectParallelAsync<int, int>(x => throw new Exception())", CallKind.NoTokenValueTask, "IEnumerable");
        yield return new("texts.SelectParallelAsync(client.GetStringAsync)", CallKind.Task, "IEnumerable");
        yield return new("texts.SelectParallelAsync((url, token) => client.GetStringAsync(url, token))", CallKind.Task, "IEnumerable");
        yield return new("texts.SelectParallelAsync(url => client.GetStringAsync(url))", CallKind.NoTokenTask, "IEnumerable");
        yield return new("runtime.ProcessManyAsync(texts, client.GetStringAsync)", CallKind.Task, null);
    }

    private static Written Of(string code, string item, CallShape shape, string? source) =>
        new(code.Replace("$", $"Of<{item}>", StringComparison.Ordinal), shape.Meant, source);

    private sealed record Written(string Code, CallKind Meant, string? Source);
}
#endif
