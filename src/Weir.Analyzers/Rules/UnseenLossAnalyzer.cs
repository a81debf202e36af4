using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR012: failed items are left out, and nothing in the options sees them.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class UnseenLossAnalyzer : RunAnalyzer
{
    private static readonly string[] Witnesses = ["OnErrorAsync", "OnCompleteItemAsync", "Progress", "OnMetricsSample", "OnFallback"];

    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.UnseenLoss);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        string operation = run.Invocation.TargetMethod.Name;
        if (run.NothingIsSetElsewhere && types.IsOperator(run.Invocation.TargetMethod) && !operation.Contains("Outcomes")
            && run.Options.TryGetValue("ErrorMode", out IOperation? mode) && mode is IFieldReferenceOperation { Field.Name: "BestEffort" }
            && !Witnesses.Any(run.Options.ContainsKey))
        {
            string instead = operation.Contains("Stream") ? "SelectParallelOutcomesStreamAsync"
                : operation == "ForEachParallelAsync" ? "ForEachParallelOutcomesAsync"
                : "SelectParallelOutcomesAsync";
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.UnseenLoss, mode.Syntax.GetLocation(), instead));
        }
    }
}
