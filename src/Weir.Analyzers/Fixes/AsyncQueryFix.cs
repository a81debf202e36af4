using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Reads a query asynchronously.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class AsyncQueryFix() : DiagnosticFix("WEIR011", "Read the query asynchronously")
{
    private const string Namespace = "Microsoft.EntityFrameworkCore";

    private const string Method = "AsAsyncEnumerable";

    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        // A runtime takes no asynchronous sequence.
        if (node is not ExpressionSyntax query
            || query.FirstAncestorOrSelf<InvocationExpressionSyntax>(c => c != node) is not { } call
            || model.GetSymbolInfo(call, cancellationToken).Symbol is not IMethodSymbol { ContainingType.Name: "ParallelOperators" }
            || model.GetTypeInfo(query, cancellationToken).Type is not { } type)
        {
            return null;
        }

        bool isKnown = model.LookupSymbols(query.SpanStart, type, Method, includeReducedExtensionMethods: true).Length > 0;
        bool binds = query
            is not (AwaitExpressionSyntax or BinaryExpressionSyntax or ConditionalExpressionSyntax or QueryExpressionSyntax or CastExpressionSyntax);
        ExpressionSyntax receiver = binds ? query.WithoutTrivia() : SyntaxFactory.ParenthesizedExpression(query.WithoutTrivia());
        MemberAccessExpressionSyntax method = SyntaxFactory.MemberAccessExpression(
            SyntaxKind.SimpleMemberAccessExpression, receiver, SyntaxFactory.IdentifierName(Method));
        ExpressionSyntax read = SyntaxFactory.InvocationExpression(method).WithTriviaFrom(query);
        return root => Import(root.ReplaceNode(query, read), isKnown);
    }

    private static SyntaxNode Import(SyntaxNode root, bool isKnown) => isKnown || root is not CompilationUnitSyntax unit
        ? root
        : unit.AddUsings(
            SyntaxFactory.UsingDirective(SyntaxFactory.ParseName(Namespace)).NormalizeWhitespace().WithTrailingTrivia(SyntaxFactory.ElasticLineFeed));
}
