using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Passes the token on to the calls that have an overload with one.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class TokenFix() : DiagnosticFix("WEIR003", "Pass the token on")
{
    private const string Token = "token";

    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        if (node.FirstAncestorOrSelf<LambdaExpressionSyntax>() is not { } lambda)
        {
            return null;
        }

        InvocationExpressionSyntax[] calls = [.. lambda.Body.DescendantNodesAndSelf(static n => n is not AnonymousFunctionExpressionSyntax)
            .OfType<InvocationExpressionSyntax>().Where(call => TakesToken(model, call, cancellationToken))];
        bool taken = model.LookupSymbols(lambda.SpanStart, name: Token).Any(static s => s is ILocalSymbol or IParameterSymbol);
        return calls.Length == 0 || taken || Parameters(lambda) is not { } parameters ? null
            : root => root.ReplaceNode(lambda, Changed(lambda, calls, parameters));
    }

    private static ParenthesizedLambdaExpressionSyntax Changed(
        LambdaExpressionSyntax lambda, InvocationExpressionSyntax[] calls, ParameterListSyntax parameters)
    {
        ArgumentSyntax token = SyntaxFactory.Argument(SyntaxFactory.IdentifierName(Token));
        LambdaExpressionSyntax now = lambda.ReplaceNodes(calls, (_, call) => call.WithArgumentList(With(call.ArgumentList, token)));
        SyntaxToken arrow = now.ArrowToken.WithLeadingTrivia(SyntaxFactory.Space);
        return SyntaxFactory.ParenthesizedLambdaExpression(parameters, now.Body).WithModifiers(now.Modifiers).WithArrowToken(arrow).WithTriviaFrom(lambda);
    }

    private static ArgumentListSyntax With(ArgumentListSyntax list, ArgumentSyntax last) =>
        list.WithArguments(SyntaxFactory.SeparatedList(list.Arguments.Append(list.Arguments.Count == 0 ? last : last.WithLeadingTrivia(SyntaxFactory.Space))));

    private static ParameterListSyntax? Parameters(LambdaExpressionSyntax lambda)
    {
        ParameterSyntax token = SyntaxFactory.Parameter(SyntaxFactory.Identifier(Token)).WithLeadingTrivia(SyntaxFactory.Space);
        SeparatedSyntaxList<ParameterSyntax> given = (lambda as ParenthesizedLambdaExpressionSyntax)?.ParameterList.Parameters ?? default;
        return lambda switch
        {
            SimpleLambdaExpressionSyntax one => SyntaxFactory.ParameterList(SyntaxFactory.SeparatedList([one.Parameter.WithoutTrivia(), token])),
            _ when given.Count == 1 => SyntaxFactory.ParameterList(SyntaxFactory.SeparatedList([given[0], CreateLike(given[0], token)])),
            _ when given.Count == 2 => SyntaxFactory.ParameterList(SyntaxFactory.SeparatedList([given[0], Named(given[1])])),
            _ => null,
        };
    }

    private static ParameterSyntax Named(ParameterSyntax ignored) =>
        ignored.WithIdentifier(SyntaxFactory.Identifier(Token)).WithLeadingTrivia(SyntaxFactory.Space);

    // All parameters have types, or none.
    private static ParameterSyntax CreateLike(ParameterSyntax other, ParameterSyntax token) =>
        other.Type is null ? token : token.WithoutTrivia().WithType(SyntaxFactory.ParseTypeName(" System.Threading.CancellationToken "));

    // The method takes an optional token that is not given, or has a brother with one more parameter at its end.
    private static bool TakesToken(SemanticModel model, InvocationExpressionSyntax call, CancellationToken cancellationToken)
    {
        if (model.GetSymbolInfo(call, cancellationToken).Symbol is not IMethodSymbol method
            || call.ArgumentList.Arguments.Any(static a => a.NameColon is not null))
        {
            return false;
        }

        int given = call.ArgumentList.Arguments.Count;
        return method.ContainingType.GetMembers(method.Name).OfType<IMethodSymbol>().Any(other =>
        {
            IMethodSymbol own = method is { ReducedFrom: not null, ReceiverType: { } receiver } ? other.ReduceExtensionMethod(receiver) ?? other : other;
            return own.Parameters.Length == given + 1 && IsToken(own.Parameters[given].Type)
                && !method.Parameters.Take(given).Any(static p => IsToken(p.Type))
                && own.Parameters.Take(given).Select(static p => p.Type.OriginalDefinition.ToDisplayString())
                    .SequenceEqual(method.Parameters.Take(given).Select(static p => p.Type.OriginalDefinition.ToDisplayString()));
        });
    }

    private static bool IsToken(ITypeSymbol type) => type.ToDisplayString() == "System.Threading.CancellationToken";
}
