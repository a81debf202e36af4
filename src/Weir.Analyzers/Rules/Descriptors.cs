using Microsoft.CodeAnalysis;

namespace Weir.Analyzers.Rules;

/// <summary>The rules. docs/reference/analyzers.md has a section for each.</summary>
internal static class Descriptors
{
    public static readonly DiagnosticDescriptor PassedOverAlias = new(
        "WEIR001",
        "An alias of a block is passed over",
        "'{0}' is the block of System.Threading.Tasks.Dataflow: the alias '{1}' stands for a type with its arguments and is not used where arguments follow",
        "Usage",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir001"));

    public static readonly DiagnosticDescriptor SharedState = new(
        "WEIR002",
        "Parallel calls write shared state",
        "'{0}' is written by several calls at once, and is not safe for that: {1}",
        "Reliability",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir002"));

    public static readonly DiagnosticDescriptor IgnoredToken = new(
        "WEIR003",
        "A call with a time limit ignores its token",
        "The call ignores its token, so {0} gives its item up but does not stop it",
        "Reliability",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir003"));

    public static readonly DiagnosticDescriptor UnsafeRetry = new(
        "WEIR004",
        "A call that looks unsafe to repeat is retried",
        "'{0}' looks unsafe to repeat, and MaxRetries repeats it: an attempt may have had its effect before it failed",
        "Reliability",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir004"));

    public static readonly DiagnosticDescriptor DroppedTask = new(
        "WEIR005",
        "A task is dropped",
        "{0}",
        "Reliability",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir005"));

    public static readonly DiagnosticDescriptor UnusedResults = new(
        "WEIR006",
        "Results that nobody gets are not disposed of",
        "The results are disposable ('{0}'), and those that the caller does not get stay open: set DisposeUnusedResults",
        "Reliability",
        DiagnosticSeverity.Info,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir006"));

    public static readonly DiagnosticDescriptor UnfitCall = new(
        "WEIR007",
        "No overload fits the call of an item",
        "The compiler cannot tell what this call is: {0}",
        "Usage",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir007"));

    public static readonly DiagnosticDescriptor NoEffect = new(
        "WEIR010",
        "An option has no effect",
        "'{0}' has no effect here: {1}",
        "Usage",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir010"));

    public static readonly DiagnosticDescriptor SynchronousQuery = new(
        "WEIR011",
        "A query is read synchronously",
        "The query is read synchronously, which holds a thread while the database answers: {0}",
        "Performance",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir011"));

    public static readonly DiagnosticDescriptor UnseenLoss = new(
        "WEIR012",
        "BestEffort drops failed items, and nobody sees them",
        "BestEffort leaves out what fails, even if everything does, and nothing here sees it: set OnErrorAsync, or use {0}",
        "Reliability",
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        helpLinkUri: Help("weir012"));

    // Of the repository that the package was made of; it has no address of its own.
    private static string Help(string rule) => "docs/reference/analyzers.md#" + rule;
}
