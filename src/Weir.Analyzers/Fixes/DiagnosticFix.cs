using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;

namespace Weir.Analyzers.Fixes;

/// <summary>Fixes what one rule reports, by one change of the document.</summary>
public abstract class DiagnosticFix : CodeFixProvider
{
    private readonly string _id;
    private readonly string _title;

    private protected DiagnosticFix(string id, string title)
    {
        _id = id;
        _title = title;
    }

    /// <inheritdoc/>
    public sealed override ImmutableArray<string> FixableDiagnosticIds => ImmutableArray.Create(_id);

    /// <inheritdoc/>
    public sealed override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    /// <inheritdoc/>
    public sealed override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        SemanticModel? model = await context.Document.GetSemanticModelAsync(context.CancellationToken).ConfigureAwait(false);
        if (root is null || model is null
            || FindChange(root.FindNode(context.Span, getInnermostNodeForTie: true), model, context.CancellationToken) is not { } change)
        {
            return;
        }

        context.RegisterCodeFix(
            CodeAction.Create(_title, _ => Task.FromResult(context.Document.WithSyntaxRoot(change(root))), GetType().Name), context.Diagnostics);
    }

    /// <returns>What changes the root of the document; null if nothing can be fixed.</returns>
    private protected abstract Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken);
}

/// <summary>Names the block of Weir.Dataflow in full.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class PassedOverAliasFix() : DiagnosticFix("WEIR001", "Use the block of Weir.Dataflow")
{
    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        if (node is not GenericNameSyntax name)
        {
            return null;
        }

        NameSyntax full = SyntaxFactory.QualifiedName(SyntaxFactory.ParseName("Weir.Dataflow"), name.WithoutTrivia()).WithTriviaFrom(name);
        return root => root.ReplaceNode(name, full);
    }
}

/// <summary>Removes an option that the operator does not use. One that only lacks another stays: what is missing is probably that other one.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class NoEffectFix() : DiagnosticFix("WEIR010", "Remove the option")
{
    private static readonly string[] Removable =
    [
        "OrderedOutput", "OnThrottleAsync", "OnDrainAsync", "ChannelCapacity", "ReturnOutcomesOnCancellation", "IncludeDetails", "ErrorMode",
        "MaxDegreeOfParallelism", "TimeProvider", "OperationName", "Tags",
    ];

    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken) =>
        node is AssignmentExpressionSyntax { Parent: InitializerExpressionSyntax, Left: IdentifierNameSyntax name }
            && Removable.Contains(name.Identifier.ValueText)
            ? root => root.RemoveNode(node, SyntaxRemoveOptions.KeepNoTrivia)!
            : null;
}

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
