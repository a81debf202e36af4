// In Release only, as the shapes of operators.
#if !DEBUG
using System.Globalization;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Tests.Resolution.Shapes;

/// <summary>
/// Does what one writes for a call through policies compile, for chains, chains of a key and shared limits, with each version of the language since C# 13?
/// </summary>
public class ChainShapeTests
{
    private const string Preamble = """
        using System; using System.Threading; using System.Threading.Tasks; using Weir; using Weir.Resilience;
        static class One
        {
            public static ValueTask<int> ValueOf(CancellationToken token) => default;
            public static Task<int> TaskOf(CancellationToken token) => null!;
            public static int Sync(CancellationToken token) => 1;
            public static ValueTask Value(CancellationToken token) => default;
            public static Task Task(CancellationToken token) => null!;
            public static void Void(CancellationToken token) { }
        }
        static class Two
        {
            public static ValueTask<int> ValueOf(string state, CancellationToken token) => default;
            public static Task<int> TaskOf(string state, CancellationToken token) => null!;
            public static int Sync(string state, CancellationToken token) => 1;
            public static ValueTask Value(string state, CancellationToken token) => default;
            public static Task Task(string state, CancellationToken token) => null!;
            public static void Void(string state, CancellationToken token) { }
        }
        static class Calls
        {

        """;

    private const string Parameters = "PolicyChain chain, PolicyChain<int> typed, PolicyChain keyed, SharedConcurrencyLimit limit, CancellationToken token";

    // What is written, with the class of methods, the parameters and the arguments, and what the delegate returns that is meant.
    private static readonly (string Code, string Meant)[] WithResult =
    [
        ("{1} => {0}.ValueOf({2})", "ValueTask<int>"),
        ("{0}.ValueOf", "ValueTask<int>"),
        ("async {1} => await {0}.TaskOf({2})", "ValueTask<int>"),
        ("async {1} => {{ await Task.Yield(); return 1; }}", "ValueTask<int>"),
        ("{1} => new ValueTask<int>(1)", "ValueTask<int>"),
        ("{1} => {0}.TaskOf({2})", "Task<int>"),
        ("{0}.TaskOf", "Task<int>"),
        ("{1} => Task.FromResult(1)", "Task<int>"),
        ("{1} => {0}.Sync({2})", "int"),
        ("{0}.Sync", "int"),
        ("{1} => 1", "int"),
        ("{1} => {{ token.ThrowIfCancellationRequested(); return 1; }}", "int"),
    ];

    private static readonly (string Code, string Meant)[] WithoutResult =
    [
        ("{1} => {0}.Value({2})", "ValueTask"),
        ("{0}.Value", "ValueTask"),
        ("async {1} => await {0}.Task({2})", "ValueTask"),
        ("async {1} => {{ await Task.Yield(); }}", "ValueTask"),
        ("{1} => ValueTask.CompletedTask", "ValueTask"),
        ("{1} => {0}.Task({2})", "Task"),
        ("{0}.Task", "Task"),
        ("{1} => Task.CompletedTask", "Task"),
        ("{1} => {0}.Void({2})", "void"),
        ("{0}.Void", "void"),
        ("{1} => {{ }}", "void"),
    ];

    [Theory(Timeout = 300_000)]
    [InlineData(LanguageVersion.CSharp13)]
    [InlineData(LanguageVersion.CSharp14)]
    public async Task Calls_OfEachShape_MeanOneOverload(LanguageVersion version)
    {
        await Task.Yield();
        (string Code, string Meant)[] calls = [.. AllCalls()];
        StringBuilder code = new(Preamble);
        for (int i = 0; i < calls.Length; i++)
        {
            code.Append(CultureInfo.InvariantCulture, $"    static async Task M{i}({Parameters}) => await {calls[i].Code};\n");
        }

        SyntaxTree tree = CSharpSyntaxTree.ParseText(
            code.Append('}').ToString(), new CSharpParseOptions(version), cancellationToken: TestContext.Current.CancellationToken);
        CSharpCompilation compilation = CallShapeTests.Empty.Value.AddSyntaxTrees(tree);
        Assert.Empty(CallShapeTests.Errors(compilation).Take(20)
            .Select(e => $"{e.GetMessage(CultureInfo.InvariantCulture)} at {tree.GetText().Lines[CallShapeTests.LineOf(e)]}"));
        SemanticModel model = compilation.GetSemanticModel(tree);
        IEnumerable<ExpressionSyntax> written = tree.GetRoot(TestContext.Current.CancellationToken).DescendantNodes().OfType<MethodDeclarationSyntax>()
            .Where(static m => m.Identifier.Text[0] == 'M').Select(static m => ((AwaitExpressionSyntax)m.ExpressionBody!.Expression).Expression);
        List<string> wrong = [];
        foreach (((string text, string meant), ExpressionSyntax expression) in calls.Zip(written))
        {
            var bound = (IMethodSymbol)model.GetSymbolInfo(expression, TestContext.Current.CancellationToken).Symbol!;
            var call = (INamedTypeSymbol)bound.Parameters.First(static p => p.Type.TypeKind == TypeKind.Delegate).Type;
            if (call.DelegateInvokeMethod!.ReturnType.ToDisplayString(SymbolDisplayFormat.MinimallyQualifiedFormat) != meant)
            {
                wrong.Add($"{text}: {bound}");
            }
        }

        Assert.Empty(wrong);
        Assert.True(calls.Length > 250, $"{calls.Length} calls.");
    }

    private static IEnumerable<(string Code, string Meant)> AllCalls() =>
        from receiver in new[] { "chain", "typed", "keyed.For(1)", "limit" }
        from shape in receiver == "typed" ? WithResult : [.. WithResult, .. WithoutResult]
        from hasState in new[] { false, true }
        from end in new[] { "", ", token", ", cancellationToken: token" }
        let call = string.Format(
            CultureInfo.InvariantCulture, shape.Code, hasState ? "Two" : "One", hasState ? "(s, t)" : "t", hasState ? "s, t" : "t")
        select ($"{receiver}.ExecuteAsync({call}{(hasState ? ", \"state\"" : "")}{end})", shape.Meant);
}
#endif
