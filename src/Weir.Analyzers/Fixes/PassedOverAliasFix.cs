using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

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
