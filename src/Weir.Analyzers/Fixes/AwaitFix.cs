using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Awaits what was dropped, where that needs no other type of method: in what is asynchronous already, and in a lambda that returns nothing.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class AwaitFix() : DiagnosticFix("WEIR005", "Await it")
{
    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        if (node is not InvocationExpressionSyntax { Parent: ExpressionStatementSyntax or LambdaExpressionSyntax { AsyncKeyword.RawKind: 0 } } call
            || model.GetTypeInfo(call, cancellationToken).Type?.Name is not ("Task" or "ValueTask"))
        {
            return null;
        }

        SyntaxNode? around = call.Ancestors().FirstOrDefault(static n =>
            n is AnonymousFunctionExpressionSyntax or LocalFunctionStatementSyntax or BaseMethodDeclarationSyntax or GlobalStatementSyntax);
        LambdaExpressionSyntax? toMake = null;
        switch (around)
        {
            case LambdaExpressionSyntax lambda when lambda.AsyncKeyword == default:
                if (model.GetSymbolInfo(lambda, cancellationToken).Symbol is not IMethodSymbol { ReturnsVoid: true })
                {
                    return null;
                }

                toMake = lambda;
                break;
            case AnonymousFunctionExpressionSyntax anonymous when anonymous.AsyncKeyword == default:
            case LocalFunctionStatementSyntax local when !local.Modifiers.Any(SyntaxKind.AsyncKeyword):
            case BaseMethodDeclarationSyntax method when !method.Modifiers.Any(SyntaxKind.AsyncKeyword):
            case null:
                return null;
        }

        return root => Changed(root, call, toMake);
    }

    private static SyntaxNode Changed(SyntaxNode root, InvocationExpressionSyntax call, LambdaExpressionSyntax? toMake)
    {
        SyntaxToken keyword = SyntaxFactory.Token(SyntaxKind.AwaitKeyword).WithTrailingTrivia(SyntaxFactory.Space);
        ExpressionSyntax awaited = SyntaxFactory.AwaitExpression(keyword, call.WithoutTrivia()).WithTriviaFrom(call);
        if (toMake is null)
        {
            return root.ReplaceNode(call, awaited);
        }

        SyntaxToken async = SyntaxFactory.Token(SyntaxKind.AsyncKeyword).WithTrailingTrivia(SyntaxFactory.Space);
        LambdaExpressionSyntax now = toMake.ReplaceNode(call, awaited);
        return root.ReplaceNode(toMake, now.WithoutLeadingTrivia().WithAsyncKeyword(async).WithLeadingTrivia(toMake.GetLeadingTrivia()));
    }
}
