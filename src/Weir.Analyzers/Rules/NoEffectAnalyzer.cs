using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR010: an option is set that this operator does not use, or that needs another one which is not set.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class NoEffectAnalyzer : RunAnalyzer
{
    private static readonly string[] OfRetries =
        ["ShouldRetry", "IsTransient", "DelayHint", "OnRetryAsync", "BaseDelay", "MaxDelay", "BackoffStrategy", "Randomness"];

    private static readonly string[] OfPauses = ["OnThrottleAsync", "OnDrainAsync"];

    // In the policies of a runtime.
    private static readonly string[] OfTheRuntime = ["MaxDegreeOfParallelism", "TimeProvider"];

    private static readonly string[] OfItsCall = ["OperationName", "Tags", "OrderedOutput"];

    private static readonly string[] OfOperators = ["ErrorMode", "ChannelCapacity", "ReturnOutcomesOnCancellation", "IncludeDetails"];

    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.NoEffect);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        Look look = new(context, run.Options, run.NothingIsSetElsewhere);
        if (types.IsOperator(run.Invocation.TargetMethod))
        {
            AnalyzeOperator(look, run);
            AnalyzePolicies(look);
        }
        else if (run.Options.TryGetValue("Policies", out IOperation? value) && RunCall.Written(value) is { } policies)
        {
            Look inner = new(context, policies, value is IObjectCreationOperation);
            inner.Report(OfTheRuntime, "it is the runtime's");
            inner.Report(OfItsCall, "it is set at the call, beside Policies");
            inner.Report(OfOperators, "it is for operators, and outcomes report each failure");
            AnalyzePolicies(inner);
        }
    }

    private static void AnalyzeOperator(Look look, RunCall run)
    {
        string operation = run.Invocation.TargetMethod.Name;
        if (!operation.Contains("Stream"))
        {
            string order = operation.StartsWith("ForEach", StringComparison.Ordinal)
                ? "there is no output; for calls in order, use MaxDegreeOfParallelism = 1 or PartitionBy"
                : "a list is always in source order";
            look.Report("OrderedOutput", order);
            look.Report(OfPauses, "only a stream pauses for its consumer");
            if (!run.HasKeys)
            {
                look.Report("ChannelCapacity", "only a stream, or a run of items with keys, reads ahead");
            }
        }

        if (!operation.EndsWith("OutcomesAsync", StringComparison.Ordinal))
        {
            look.Report("ReturnOutcomesOnCancellation", "it is for SelectParallelOutcomesAsync and ForEachParallelOutcomesAsync");
        }

        if (!operation.Contains("Outcomes"))
        {
            look.Report("IncludeDetails", "only outcomes have details");
        }
        else
        {
            look.Report("ErrorMode", "outcomes report each failure, and no mode stops the run");
        }

        if (look.IsSet("AdaptiveConcurrency"))
        {
            look.Report("MaxDegreeOfParallelism", "AdaptiveConcurrency replaces it, and has bounds of its own");
        }
    }

    private static void AnalyzePolicies(Look look)
    {
        if (!look.IsWhole)
        {
            return;
        }

        if (!look.IsWritten("Retry") && !look.IsWritten("MaxRetries"))
        {
            look.Report(OfRetries, "Retry is not set, so nothing is retried");
        }

        look.ReportReplaced("Retry", "MaxRetries", "IsTransient", "BaseDelay", "BackoffStrategy");
        look.ReportReplaced("Output", "ChannelCapacity");
        if (!look.IsWritten("CircuitBreaker"))
        {
            look.Report("OpenCircuitMode", "there is no circuit breaker");
        }

        look.ReportWithout("Progress", "OnProgress", "OnProgressAsync");
        if (!look.IsWritten("Tags"))
        {
            look.ReportWithout("Metrics", "OnMetricsSample");
        }
    }

    private sealed class Look(OperationAnalysisContext context, IReadOnlyDictionary<string, IOperation> options, bool isWhole)
    {
        public bool IsWhole => isWhole;

        public bool IsWritten(string name) => options.ContainsKey(name);

        /// <summary>Whether it has another value than the default, as far as that is written.</summary>
        public bool IsSet(string name) =>
            options.TryGetValue(name, out IOperation? value)
            && value is not IDefaultValueOperation
            && value.ConstantValue is not { HasValue: true, Value: null or false };

        public void Report(IEnumerable<string> names, string why)
        {
            foreach (string name in names)
            {
                Report(name, why);
            }
        }

        public void Report(string name, string why)
        {
            if (IsSet(name))
            {
                IOperation value = options[name];
                SyntaxNode at = value.Syntax.FirstAncestorOrSelf<AssignmentExpressionSyntax>() ?? value.Syntax;
                context.ReportDiagnostic(Diagnostic.Create(Descriptors.NoEffect, at.GetLocation(), name, why));
            }
        }

        /// <summary>Reports options that are set before the group that they are in.</summary>
        public void ReportReplaced(string group, params string[] names)
        {
            if (options.TryGetValue(group, out IOperation? value))
            {
                foreach (string name in names)
                {
                    if (options.TryGetValue(name, out IOperation? earlier) && earlier.Syntax.SpanStart < value.Syntax.SpanStart)
                    {
                        Report(name, $"{group}, which is set after it, replaces it");
                    }
                }
            }
        }

        /// <summary>Reports options of reports that nobody gets.</summary>
        public void ReportWithout(string name, params string[] callbacks)
        {
            if (options.TryGetValue(name, out IOperation? value)
                && value is IObjectCreationOperation
                && RunCall.Written(value) is { } written
                && !Array.Exists(callbacks, written.ContainsKey))
            {
                Report(name, $"{callbacks[0]} is not set, so nobody gets a report");
            }
        }
    }
}
