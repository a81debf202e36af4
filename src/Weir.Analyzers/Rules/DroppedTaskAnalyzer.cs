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

        if (Result(run, types) is { } result)
        {
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.DroppedTask, result.At.GetLocation(), result.Text));
        }

        if (run.Lambda is { } lambda)
        {
            // Another run inside it has a look of its own. A task that is made there is one whose result an action has no use for.
            foreach (IOperation dropped in lambda.Body.Descendants().OfType<IExpressionStatementOperation>().Select(static s => s.Operation)
                .Where(dropped => types.IsTask(dropped.Type)
                    && (dropped is IObjectCreationOperation || (dropped is IInvocationOperation call && !types.IsRun(call.TargetMethod)))))
            {
                string name = dropped is IInvocationOperation call ? call.TargetMethod.Name : dropped.Type!.Name;
                string text = $"The task of '{name}' is not awaited, so the item ends before it and its failure is lost";
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.DroppedTask, dropped.Syntax.GetLocation(), text));
            }
        }
    }

    // What becomes of the task of a call's own work.
    private static (SyntaxNode At, string Text)? Result(RunCall run, WeirTypes types)
    {
        IMethodSymbol method = run.Invocation.TargetMethod;
        int result = method.TypeParameters.Select(static p => p.Name).ToList().IndexOf("TResult");
        ITypeSymbol? type = result >= 0 ? method.TypeArguments[result] : null;
        IMethodSymbol? call = run.Lambda?.Symbol ?? run.Method?.Method;
        if (types.IsTask(type))
        {
            return (run.Call.Syntax, "The results are tasks, which the run does not await");
        }

        if (call is { ReturnsVoid: true } && IsAsync(call))
        {
            return (run.Call.Syntax, "The call is async void, so its item ends at the first wait, and its failure ends the process");
        }

        if (type is null && (types.IsTaskOfTask(run.Method?.Method.ReturnType) || Returned(run).Any(r => types.IsTaskOfTask(r.Type))))
        {
            return (run.Call.Syntax, "The call returns a task of a task, of which the run awaits only the outer one");
        }

        // A task that hides behind object.
        IOperation? hidden = type is { SpecialType: SpecialType.System_Object } or { TypeKind: TypeKind.Dynamic }
            ? Returned(run).FirstOrDefault(r => types.IsTask(r.Type) && (run.Lambda!.Symbol.IsAsync || !types.IsTask(run.Lambda.Symbol.ReturnType)))
            : null;
        return hidden is null ? null : (hidden.Syntax, "The result is a task, which the run does not await");
    }

    private static bool IsAsync(IMethodSymbol method) =>
        method.IsAsync || method.GetAttributes().Any(static a => a.AttributeClass?.Name == "AsyncStateMachineAttribute");

    // What the lambda itself returns, and not what is inside it.
    private static IEnumerable<IOperation> Returned(RunCall run) => run.Lambda is not { } lambda ? [] : lambda.Body.Descendants()
        .OfType<IReturnOperation>().Where(r => r.ReturnedValue is not null && Around(r) == lambda).Select(static r => RunCall.Inside(r.ReturnedValue!));

    private static IOperation? Around(IOperation operation)
    {
        IOperation? around = operation.Parent;
        while (around is not (null or IAnonymousFunctionOperation or ILocalFunctionOperation))
        {
            around = around.Parent;
        }

        return around;
    }
}
