using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR005: a run that nobody awaits, a task that is dropped inside a call, or tasks as results.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class DroppedTaskAnalyzer : RunAnalyzer
{
    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.DroppedTask);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        if (run.Invocation.Parent is IExpressionStatementOperation)
        {
            string text = types.IsTask(run.Invocation.Type)
                ? $"The run of '{run.Invocation.TargetMethod.Name}' is not awaited, so nobody sees its failures or its end"
                : $"The stream of '{run.Invocation.TargetMethod.Name}' is not enumerated, so nothing runs";
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.DroppedTask, run.Invocation.Syntax.GetLocation(), text));
        }

        IMethodSymbol method = run.Invocation.TargetMethod;
        int result = method.TypeParameters.Select(static p => p.Name).ToList().IndexOf("TResult");
        if (result >= 0 && types.IsTask(method.TypeArguments[result]))
        {
            const string text = "The results are tasks, which the run does not await";
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.DroppedTask, run.Call.Syntax.GetLocation(), text));
        }

        if (run.Lambda is { } lambda)
        {
            // Another run inside it has a look of its own.
            foreach (IInvocationOperation call in lambda.Body.Descendants().OfType<IExpressionStatementOperation>().Select(static s => s.Operation)
                .OfType<IInvocationOperation>().Where(call => types.IsTask(call.Type) && !types.IsRun(call.TargetMethod)))
            {
                string text = $"The task of '{call.TargetMethod.Name}' is not awaited, so the item ends before it and its failure is lost";
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.DroppedTask, call.Syntax.GetLocation(), text));
            }
        }
    }
}
