using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>A rule about calls of operators and runtimes. It looks at those, and at what is written in their arguments.</summary>
public abstract class RunAnalyzer : DiagnosticAnalyzer
{
    /// <inheritdoc/>
    public sealed override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterCompilationStartAction(start =>
        {
            if (WeirTypes.Of(start.Compilation) is { } types)
            {
                start.RegisterOperationAction(
                    operation =>
                    {
                        if (types.RunOf(operation.Operation) is { } run)
                        {
                            Analyze(operation, run, types);
                        }
                    },
                    OperationKind.Invocation);
            }
        });
    }

    private protected abstract void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types);
}
