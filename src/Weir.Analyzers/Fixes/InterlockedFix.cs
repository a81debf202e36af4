using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Makes an addition to a captured whole number atomic.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class InterlockedFix : CodeFixProvider
{
    /// <inheritdoc/>
    public override ImmutableArray<string> FixableDiagnosticIds => ImmutableArray.Create("WEIR002");

    /// <inheritdoc/>
    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    /// <inheritdoc/>
    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        SemanticModel? model = await context.Document.GetSemanticModelAsync(context.CancellationToken).ConfigureAwait(false);
        if (root?.FindNode(context.Span, getInnermostNodeForTie: true) is not ExpressionSyntax { Parent: ExpressionStatementSyntax } change || model is null)
        {
            return;
        }

        (ExpressionSyntax Target, string Call)? atomic = change switch
        {
            PostfixUnaryExpressionSyntax post => (post.Operand, post.IsKind(SyntaxKind.PostIncrementExpression) ? "Increment(ref {0})" : "Decrement(ref {0})"),
            PrefixUnaryExpressionSyntax pre => (pre.Operand, pre.IsKind(SyntaxKind.PreIncrementExpression) ? "Increment(ref {0})" : "Decrement(ref {0})"),
            AssignmentExpressionSyntax add when add.IsKind(SyntaxKind.AddAssignmentExpression) => (add.Left, $"Add(ref {{0}}, {add.Right})"),
            _ => null,
        };
        if (atomic is not { } found
            || model.GetTypeInfo(found.Target, context.CancellationToken).Type?.SpecialType is not (SpecialType.System_Int32 or SpecialType.System_Int64)
            || change.DescendantNodes().OfType<AwaitExpressionSyntax>().Any())
        {
            return;
        }

        context.RegisterCodeFix(
            CodeAction.Create(
                "Use Interlocked",
                _ =>
                {
                    string call = "System.Threading.Interlocked." + found.Call.Replace("{0}", found.Target.ToString());
                    ExpressionSyntax written = SyntaxFactory.ParseExpression(call).WithTriviaFrom(change);
                    return Task.FromResult(context.Document.WithSyntaxRoot(root.ReplaceNode(change, written)));
                },
                nameof(InterlockedFix)),
            context.Diagnostics);
    }
}
