using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Analyzers.Fixes;

/// <summary>Sets the option: in the options that are written in the call, or in new ones.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class UnusedResultsFix() : DiagnosticFix("WEIR006", "Dispose of unused results")
{
    private const string Option = "DisposeUnusedResults = true";
    private const string Group = "Output";

    private protected override Func<SyntaxNode, SyntaxNode>? FindChange(SyntaxNode node, SemanticModel model, CancellationToken cancellationToken)
    {
        if (node.FirstAncestorOrSelf<InvocationExpressionSyntax>() is not { } call
            || model.GetSymbolInfo(call, cancellationToken).Symbol is not IMethodSymbol method
            || method.Parameters.FirstOrDefault(static p => p.Name == "options") is not { } options)
        {
            return null;
        }

        ArgumentSyntax? given = call.ArgumentList.Arguments.FirstOrDefault(argument => IsOptions(argument, options, model, cancellationToken));
        switch (given?.Expression)
        {
            case null:
                string type = options.Type.WithNullableAnnotation(NullableAnnotation.None).ToMinimalDisplayString(model, call.SpanStart);
                ArgumentSyntax made = SyntaxFactory.Argument(SyntaxFactory.ParseExpression($"new {type} {{ {OptionOf(options.Type)} }}"))
                    .WithNameColon(SyntaxFactory.NameColon("options").WithTrailingTrivia(SyntaxFactory.Space)).WithLeadingTrivia(SyntaxFactory.Space);
                return root => root.ReplaceNode(call.ArgumentList, call.ArgumentList.AddArguments(made));
            case BaseObjectCreationExpressionSyntax { Initializer: { } initializer }:
                InitializerExpressionSyntax? group = initializer.Expressions.OfType<AssignmentExpressionSyntax>()
                    .FirstOrDefault(static set => set.Left is IdentifierNameSyntax { Identifier.ValueText: Group })?.Right is BaseObjectCreationExpressionSyntax
                        { Initializer: { } inner } ? inner : null;
                ExpressionSyntax set = SyntaxFactory.ParseExpression(group is null ? OptionOf(options.Type) : Option).WithLeadingTrivia(SyntaxFactory.Space);
                initializer = group ?? initializer;
                SeparatedSyntaxList<ExpressionSyntax> all = initializer.Expressions;
                if (all.Count == 0 || all.SeparatorCount == all.Count)
                {
                    return null;
                }

                ExpressionSyntax last = all.Last();
                all = all.Replace(last, last.WithoutTrailingTrivia()).Add(set.WithTrailingTrivia(last.GetTrailingTrivia()));
                return root => root.ReplaceNode(initializer, initializer.WithExpressions(all));
            default:
                return null;
        }
    }

    /// <summary>The option as it is written: a run has it in a group, a call of a runtime not.</summary>
    private static string OptionOf(ITypeSymbol options) => options.GetMembers(Group).IsEmpty ? Option : $"{Group} = new() {{ {Option} }}";

    private static bool IsOptions(ArgumentSyntax argument, IParameterSymbol options, SemanticModel model, CancellationToken cancellationToken) =>
        argument.NameColon?.Name.Identifier.Text == options.Name
        || SymbolEqualityComparer.Default.Equals(
            model.GetTypeInfo(argument.Expression, cancellationToken).ConvertedType?.WithNullableAnnotation(NullableAnnotation.None),
            options.Type.WithNullableAnnotation(NullableAnnotation.None));
}
