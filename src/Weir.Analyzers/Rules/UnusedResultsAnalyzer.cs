using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR006: the results of a run are disposable, and nothing says what becomes of those that its caller does not get.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class UnusedResultsAnalyzer : RunAnalyzer
{
    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.UnusedResults);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        IMethodSymbol method = run.Invocation.TargetMethod;
        if (run.NothingIsSetElsewhere && !run.Options.ContainsKey("DisposeUnusedResults") && ResultOf(method) is { } result && types.IsDisposable(result))
        {
            Location at = run.Invocation.Syntax is InvocationExpressionSyntax { Expression: MemberAccessExpressionSyntax { Name: { } name } }
                ? name.GetLocation()
                : run.Invocation.Syntax.GetLocation();
            string type = result.ToMinimalDisplayString(run.Invocation.SemanticModel!, run.Invocation.Syntax.SpanStart);
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.UnusedResults, at, type));
        }
    }

    // For each has no results: what its call returns is the call's own affair.
    private static ITypeSymbol? ResultOf(IMethodSymbol method) =>
        method.Name.StartsWith("ForEach", StringComparison.Ordinal) ? null
        : method.TypeParameters.Zip(method.TypeArguments, static (parameter, argument) => (parameter, argument))
            .FirstOrDefault(static pair => pair.parameter.Name == "TResult").argument;
}
