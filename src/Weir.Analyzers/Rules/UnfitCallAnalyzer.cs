using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR007: the compiler finds no overload for the call of an item, and says only that it cannot infer types. This says what to write.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class UnfitCallAnalyzer : DiagnosticAnalyzer
{
    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.UnfitCall);

    /// <inheritdoc/>
    public override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterCompilationStartAction(static start =>
        {
            if (WeirTypes.Of(start.Compilation) is { } types)
            {
                start.RegisterSyntaxNodeAction(node => Analyze(node, types), SyntaxKind.InvocationExpression);
                start.RegisterSyntaxNodeAction(AnalyzeHook, SyntaxKind.SimpleAssignmentExpression);
            }
        });
    }

    private static void Analyze(SyntaxNodeAnalysisContext context, WeirTypes types)
    {
        var invocation = (InvocationExpressionSyntax)context.Node;
        if (invocation.Expression is not MemberAccessExpressionSyntax { Name.Identifier.Text: { } name } access
            || !(name.Contains("Parallel") || name.StartsWith("ProcessMany", StringComparison.Ordinal))
            || context.SemanticModel.GetSymbolInfo(invocation, context.CancellationToken).Symbol is not null)
        {
            return;
        }

        if (IsChannel(context.SemanticModel.GetTypeInfo(access.Expression, context.CancellationToken).Type))
        {
            // The compiler knows no such method of a channel, so it names none.
            context.ReportDiagnostic(Diagnostic.Create(
                Descriptors.UnfitCall, access.Expression.GetLocation(), $"the items of a channel are those of its reader: write '{access.Expression}.Reader'"));
            return;
        }

        if (!MethodsOf(access, context).Any(types.IsRun))
        {
            return;
        }

        foreach (ArgumentSyntax argument in invocation.ArgumentList.Arguments)
        {
            if (InsteadOf(argument.Expression, types, context) is { } instead)
            {
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.UnfitCall, argument.Expression.GetLocation(), instead));
                return;
            }
        }
    }

    /// <summary>A hook of the options that returns nothing, though hooks return a ValueTask: the compiler says that void is none.</summary>
    private static void AnalyzeHook(SyntaxNodeAnalysisContext context)
    {
        var assignment = (AssignmentExpressionSyntax)context.Node;
        if (assignment.Right is not LambdaExpressionSyntax { AsyncKeyword.RawKind: 0 } lambda
            || context.SemanticModel.GetSymbolInfo(assignment.Left, context.CancellationToken).Symbol is not IPropertySymbol property
            || property.ContainingNamespace?.ToDisplayString() is not { } home
            || !(home == "Weir" || home.StartsWith("Weir.", StringComparison.Ordinal))
            || property.Type is not INamedTypeSymbol { DelegateInvokeMethod.ReturnType: INamedTypeSymbol { Name: "ValueTask", IsGenericType: false } }
            || !ReturnsNothing(lambda, context))
        {
            return;
        }

        string parameters = lambda is ParenthesizedLambdaExpressionSyntax many ? $"{many.ParameterList}" : $"{((SimpleLambdaExpressionSyntax)lambda).Parameter}";
        context.ReportDiagnostic(Diagnostic.Create(
            Descriptors.UnfitCall, lambda.GetLocation(), $"it returns a ValueTask: write '{parameters} => {{ …; return default; }}'"));
    }

    private static bool ReturnsNothing(LambdaExpressionSyntax lambda, SyntaxNodeAnalysisContext context) => lambda.Body switch
    {
        ExpressionSyntax body => context.SemanticModel.GetTypeInfo(body, context.CancellationToken).Type?.SpecialType == SpecialType.System_Void,
        BlockSyntax block => context.SemanticModel.AnalyzeControlFlow(block) is { Succeeded: true, EndPointIsReachable: true },
        _ => false,
    };

    private static bool IsChannel(ITypeSymbol? type)
    {
        for (; type is not null; type = type.BaseType)
        {
            if (type is { Name: "Channel", ContainingNamespace: { } home } && home.ToDisplayString() == "System.Threading.Channels")
            {
                return true;
            }
        }

        return false;
    }

    private static string? InsteadOf(ExpressionSyntax call, WeirTypes types, SyntaxNodeAnalysisContext context)
    {
        int? count = call switch
        {
            SimpleLambdaExpressionSyntax => 1,
            ParenthesizedLambdaExpressionSyntax lambda => lambda.ParameterList.Parameters.Count,
            _ => null,
        };
        return count is 1 or 2 ? null
            : count is not null ? "it gets the item, or the item and a token: write 'x => …' or '(x, token) => …'"
            : MethodsOf(call, context).Select(m => LambdaOf(call, m, types)).FirstOrDefault(static text => text is not null);
    }

    /// <summary>The lambda for a method that takes more than an item and a token, all of which may be left out.</summary>
    private static string? LambdaOf(ExpressionSyntax call, IMethodSymbol method, WeirTypes types)
    {
        if (method.Parameters.Length == 0 || !method.Parameters.Skip(1).All(p => p.IsOptional || p.IsParams || types.IsToken(p.Type))
            || !(method.Parameters[0].IsParams || method.Parameters.Skip(1).Any(p => !types.IsToken(p.Type))))
        {
            return null;
        }

        IParameterSymbol? token = method.Parameters.FirstOrDefault(p => types.IsToken(p.Type));
        return token is null ? $"write 'x => {call}(x)'"
            : $"write '(x, token) => {call}(x, {(token.Ordinal == 1 ? "" : token.Name + ": ")}token)'";
    }

    private static IEnumerable<IMethodSymbol> MethodsOf(ExpressionSyntax expression, SyntaxNodeAnalysisContext context) =>
        context.SemanticModel.GetMemberGroup(expression, context.CancellationToken).OfType<IMethodSymbol>();
}
