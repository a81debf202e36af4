using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

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
