using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Names the block of Weir.Dataflow in full.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class PassedOverAliasFix : CodeFixProvider
{
    /// <inheritdoc/>
    public override ImmutableArray<string> FixableDiagnosticIds => ImmutableArray.Create("WEIR001");

    /// <inheritdoc/>
    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    /// <inheritdoc/>
    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        if (root?.FindNode(context.Span, getInnermostNodeForTie: true) is GenericNameSyntax name)
        {
            context.RegisterCodeFix(
                CodeAction.Create(
                    "Use the block of Weir.Dataflow",
                    _ =>
                    {
                        NameSyntax full = SyntaxFactory.QualifiedName(SyntaxFactory.ParseName("Weir.Dataflow"), name.WithoutTrivia()).WithTriviaFrom(name);
                        return Task.FromResult(context.Document.WithSyntaxRoot(root.ReplaceNode(name, full)));
                    },
                    nameof(PassedOverAliasFix)),
                context.Diagnostics);
        }
    }
}
