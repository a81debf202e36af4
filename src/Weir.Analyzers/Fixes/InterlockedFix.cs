using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Makes an addition to a whole number atomic, if it is a variable or a field.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class InterlockedFix() : DiagnosticFix("WEIR002", "Use Interlocked")
{
    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        if (node is not ExpressionSyntax { Parent: ExpressionStatementSyntax } change)
        {
            return null;
        }

        (ExpressionSyntax Target, string Call)? atomic = change switch
        {
            PostfixUnaryExpressionSyntax post => (post.Operand, post.IsKind(SyntaxKind.PostIncrementExpression) ? "Increment(ref {0})" : "Decrement(ref {0})"),
            PrefixUnaryExpressionSyntax pre => (pre.Operand, pre.IsKind(SyntaxKind.PreIncrementExpression) ? "Increment(ref {0})" : "Decrement(ref {0})"),
            AssignmentExpressionSyntax add when add.IsKind(SyntaxKind.AddAssignmentExpression) => (add.Left, $"Add(ref {{0}}, {add.Right})"),
            _ => null,
        };
        if (atomic is not { } found
            || model.GetTypeInfo(found.Target, cancellationToken).Type?.SpecialType is not (SpecialType.System_Int32 or SpecialType.System_Int64)
            || model.GetSymbolInfo(found.Target, cancellationToken).Symbol is IPropertySymbol
            || change.DescendantNodes().OfType<AwaitExpressionSyntax>().Any())
        {
            return null;
        }

        string call = "System.Threading.Interlocked." + found.Call.Replace("{0}", found.Target.ToString());
        ExpressionSyntax written = SyntaxFactory.ParseExpression(call).WithTriviaFrom(change);
        return root => root.ReplaceNode(change, written);
    }
}
