using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR001: <c>using BufferBlock = Weir.Dataflow.BufferBlock&lt;int&gt;;</c> does nothing for <c>new BufferBlock&lt;int&gt;()</c>.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class PassedOverAliasAnalyzer : DiagnosticAnalyzer
{
    private const string Blocks = "Weir.Dataflow";

    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.PassedOverAlias);

    /// <inheritdoc/>
    public override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterSemanticModelAction(Analyze);
    }

    // One walk over the names of a file, and only of one that has such an alias.
    private static void Analyze(SemanticModelAnalysisContext context)
    {
        if (context.SemanticModel.SyntaxTree.GetRoot(context.CancellationToken) is not CompilationUnitSyntax unit)
        {
            return;
        }

        HashSet<string> aliases = new(StringComparer.Ordinal);
        foreach (UsingDirectiveSyntax alias in unit.Usings.Concat(unit.Members.OfType<BaseNamespaceDeclarationSyntax>().SelectMany(static n => n.Usings)))
        {
            if (alias.Alias is { } name && alias.Name is QualifiedNameSyntax { Right: GenericNameSyntax block } type
                && block.Identifier.ValueText == name.Name.Identifier.ValueText && Last(type.Left) == Blocks)
            {
                aliases.Add(name.Name.Identifier.ValueText);
            }
        }

        if (aliases.Count == 0)
        {
            return;
        }

        foreach (GenericNameSyntax name in unit.DescendantNodes(static n => n is not UsingDirectiveSyntax).OfType<GenericNameSyntax>())
        {
            if (aliases.Contains(name.Identifier.ValueText)
                && name.Parent is not (QualifiedNameSyntax or AliasQualifiedNameSyntax or MemberAccessExpressionSyntax)
                && context.SemanticModel.GetSymbolInfo(name, context.CancellationToken).Symbol is INamedTypeSymbol type
                && type.ContainingNamespace?.ToDisplayString() == "System.Threading.Tasks.Dataflow")
            {
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.PassedOverAlias, name.GetLocation(), name.ToString(), name.Identifier.ValueText));
            }
        }
    }

    private static string Last(NameSyntax name)
    {
        string text = name.ToString();
        return text.StartsWith("global::", StringComparison.Ordinal) ? text.Substring("global::".Length) : text;
    }
}
