using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
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
