using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR011: the items are a query, which is read as a plain sequence although its provider can read it asynchronously.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class SynchronousQueryAnalyzer : RunAnalyzer
{
    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.SynchronousQuery);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        // What AsQueryable makes is in memory.
        if (run.Source is not { } source || source is IInvocationOperation { TargetMethod.Name: "AsQueryable" } || !types.IsQuery(source.Type)
            || run.SourceType?.Name != "IEnumerable")
        {
            return;
        }

        string instead = types.IsOperator(run.Invocation.TargetMethod) ? "add AsAsyncEnumerable()" : "read it with ToListAsync() before";
        context.ReportDiagnostic(Diagnostic.Create(Descriptors.SynchronousQuery, source.Syntax.GetLocation(), instead));
    }
}
