using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR003: a time limit is set, and the call does not pass on the token that it cancels.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class IgnoredTokenAnalyzer : RunAnalyzer
{
    private static readonly string[] Limits = ["PerItemTimeout", "AttemptTimeout", "TotalTimeout"];

    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.IgnoredToken);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        string? limit = Array.Find(Limits, name => run.Options.TryGetValue(name, out IOperation? value) && IsLimit(value));
        if (limit is not null && Ignored(run, types) is { } at)
        {
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.IgnoredToken, at, limit));
        }
    }

    private static bool IsLimit(IOperation value) =>
        value is not IDefaultValueOperation
        && !(value.ConstantValue is { HasValue: true, Value: null })
        && !(value is IFieldReferenceOperation { Field.Name: "InfiniteTimeSpan" });

    private static Location? Ignored(RunCall run, WeirTypes types)
    {
        switch (run.Call)
        {
            case IAnonymousFunctionOperation lambda:
                if (TokenOf(lambda.Symbol, types) is not { } token)
                {
                    return lambda.Syntax is LambdaExpressionSyntax written ? Head(written) : lambda.Syntax.GetLocation();
                }

                bool used = lambda.Body.Descendants()
                    .Any(o => o is IParameterReferenceOperation use && SymbolEqualityComparer.Default.Equals(use.Parameter, token));
                SyntaxReference? declared = token.DeclaringSyntaxReferences.FirstOrDefault();
                return used || declared is null ? null : Location.Create(declared.SyntaxTree, declared.Span);
            case IMethodReferenceOperation method when TokenOf(method.Method, types) is null:
                return method.Syntax.GetLocation();
            default:
                return null;
        }
    }

    private static IParameterSymbol? TokenOf(IMethodSymbol method, WeirTypes types) =>
        method.Parameters.FirstOrDefault(p => SymbolEqualityComparer.Default.Equals(p.Type, types.CancellationToken));

    private static Location Head(LambdaExpressionSyntax lambda) => lambda switch
    {
        SimpleLambdaExpressionSyntax simple => simple.Parameter.GetLocation(),
        ParenthesizedLambdaExpressionSyntax several => several.ParameterList.GetLocation(),
        _ => lambda.GetLocation(),
    };
}
