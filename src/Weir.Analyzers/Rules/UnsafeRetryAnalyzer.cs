using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR004: retries repeat a call whose name says that it does something again each time.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class UnsafeRetryAnalyzer : RunAnalyzer
{
    private static readonly HashSet<string> Verbs = new(StringComparer.Ordinal)
    {
        "Post", "Insert", "Append", "Charge", "Pay", "Transfer", "Publish", "Submit", "Enqueue", "Withdraw", "Deposit", "Purchase", "Book",
    };

    private static readonly HashSet<string> Prefixes = new(StringComparer.Ordinal) { "Try", "Bulk", "Execute" };

    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.UnsafeRetry);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        // Retries that say no number are three.
        bool repeats = run.Options.TryGetValue("MaxRetries", out IOperation? retries)
            ? retries.ConstantValue is not { HasValue: true, Value: 0 }
            : run.Options.TryGetValue("Retry", out IOperation? group) && group is IObjectCreationOperation;
        if (!repeats)
        {
            return;
        }

        if (run.Method is { } method)
        {
            if (IsUnsafe(method.Method, types))
            {
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.UnsafeRetry, method.Syntax.GetLocation(), method.Method.Name));
            }

            return;
        }

        // Whoever speaks of an idempotency key has thought of it.
        if (run.Lambda is not { } lambda || lambda.Syntax.ToString().IndexOf("idempoten", StringComparison.OrdinalIgnoreCase) >= 0)
        {
            return;
        }

        foreach (IOperation operation in lambda.Body.Descendants())
        {
            string? name = operation switch
            {
                IInvocationOperation call when IsUnsafe(call.TargetMethod, types) => call.TargetMethod.Name,
                IPropertyReferenceOperation { Property: { Name: "Post", ContainingType.Name: "HttpMethod" } } => "HttpMethod.Post",
                _ => null,
            };
            if (name is not null)
            {
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.UnsafeRetry, operation.Syntax.GetLocation(), name));
            }
        }
    }

    // What is awaited goes somewhere; what is not is in memory.
    private static bool IsUnsafe(IMethodSymbol method, WeirTypes types)
    {
        if (!types.IsTask(method.ReturnType))
        {
            return false;
        }

        string first = FirstWord(method.Name, 0);
        return Verbs.Contains(first) || (Prefixes.Contains(first) && Verbs.Contains(FirstWord(method.Name, first.Length)));
    }

    private static string FirstWord(string name, int start)
    {
        int end = start + 1;
        while (end < name.Length && !char.IsUpper(name[end]))
        {
            end++;
        }

        return start < name.Length ? name.Substring(start, end - start) : "";
    }
}
