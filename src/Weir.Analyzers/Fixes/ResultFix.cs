using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Awaits a task that a call would have as its result: the inner task of <c>StartNew</c>, or what an asynchronous lambda forgot to await.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class ResultFix() : DiagnosticFix("WEIR005", "Await the result")
{
    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        if (node.FirstAncestorOrSelf<LambdaExpressionSyntax>() is not { ExpressionBody: { } body } lambda || lambda.Span != node.Span)
        {
            return null;
        }

        ExpressionSyntax started = body is AwaitExpressionSyntax awaited ? awaited.Expression : body;
        if (started is InvocationExpressionSyntax { Expression: MemberAccessExpressionSyntax { Name.Identifier.ValueText: "StartNew" } }
            && model.GetSymbolInfo(started, cancellationToken).Symbol is IMethodSymbol { ContainingType.Name: "TaskFactory" })
        {
            ExpressionSyntax unwrapped = SyntaxFactory.InvocationExpression(
                SyntaxFactory.MemberAccessExpression(
                    SyntaxKind.SimpleMemberAccessExpression, started.WithoutTrivia(), SyntaxFactory.IdentifierName("Unwrap"))).WithTriviaFrom(started);
            return root => root.ReplaceNode(started, unwrapped);
        }

        if (lambda.AsyncKeyword == default || body is AwaitExpressionSyntax
            || model.GetTypeInfo(body, cancellationToken).Type?.Name is not ("Task" or "ValueTask"))
        {
            return null;
        }

        SyntaxToken keyword = SyntaxFactory.Token(SyntaxKind.AwaitKeyword).WithTrailingTrivia(SyntaxFactory.Space);
        ExpressionSyntax now = SyntaxFactory.AwaitExpression(keyword, body.WithoutTrivia()).WithTriviaFrom(body);
        return root => root.ReplaceNode(body, now);
    }
}
