using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Awaits what was dropped, where that needs no other type of method: in what is asynchronous already, and in a lambda that returns nothing.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class AwaitFix : CodeFixProvider
{
    /// <inheritdoc/>
    public override ImmutableArray<string> FixableDiagnosticIds => ImmutableArray.Create("WEIR005");

    /// <inheritdoc/>
    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    /// <inheritdoc/>
    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        SemanticModel? model = await context.Document.GetSemanticModelAsync(context.CancellationToken).ConfigureAwait(false);
        if (root is null || model is null
            || root.FindNode(context.Span, getInnermostNodeForTie: true) is not InvocationExpressionSyntax { Parent: ExpressionStatementSyntax } call
            || model.GetTypeInfo(call, context.CancellationToken).Type?.Name is not ("Task" or "ValueTask"))
        {
            return;
        }

        SyntaxNode? around = call.Ancestors().FirstOrDefault(static n =>
            n is AnonymousFunctionExpressionSyntax or LocalFunctionStatementSyntax or BaseMethodDeclarationSyntax or GlobalStatementSyntax);
        LambdaExpressionSyntax? toMake = null;
        switch (around)
        {
            case LambdaExpressionSyntax lambda when lambda.AsyncKeyword == default:
                if (model.GetSymbolInfo(lambda, context.CancellationToken).Symbol is not IMethodSymbol { ReturnsVoid: true })
                {
                    return;
                }

                toMake = lambda;
                break;
            case AnonymousFunctionExpressionSyntax anonymous when anonymous.AsyncKeyword == default:
            case LocalFunctionStatementSyntax local when !local.Modifiers.Any(SyntaxKind.AsyncKeyword):
            case BaseMethodDeclarationSyntax method when !method.Modifiers.Any(SyntaxKind.AsyncKeyword):
            case null:
                return;
        }

        context.RegisterCodeFix(
            CodeAction.Create("Await it", _ => Task.FromResult(context.Document.WithSyntaxRoot(Changed(root, call, toMake))), nameof(AwaitFix)),
            context.Diagnostics);
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
