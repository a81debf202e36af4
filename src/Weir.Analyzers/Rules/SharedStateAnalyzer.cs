using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>WEIR002: a captured variable, or a collection that is not thread-safe, is written in a call that runs for several items at once.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class SharedStateAnalyzer : RunAnalyzer
{
    private static readonly HashSet<string> Collections = new(StringComparer.Ordinal)
    {
        "System.Collections.Generic.List<T>", "System.Collections.Generic.Dictionary<TKey, TValue>", "System.Collections.Generic.HashSet<T>",
        "System.Collections.Generic.Queue<T>", "System.Collections.Generic.Stack<T>", "System.Collections.Generic.LinkedList<T>",
        "System.Collections.Generic.SortedDictionary<TKey, TValue>", "System.Collections.Generic.SortedList<TKey, TValue>",
        "System.Collections.Generic.SortedSet<T>", "System.Collections.Generic.PriorityQueue<TElement, TPriority>",
        "System.Collections.ArrayList", "System.Collections.Hashtable", "System.Collections.BitArray", "System.Text.StringBuilder",
    };

    private static readonly string[] Writers =
    [
        "Add", "Append", "Clear", "Dequeue", "Enqueue", "ExceptWith", "Insert", "IntersectWith", "Pop", "Push", "Remove", "Replace", "Reverse", "Set", "Sort",
        "SymmetricExceptWith", "TryAdd", "TryDequeue", "TryPop", "TrimExcess", "UnionWith", "EnsureCapacity",
    ];

    private static readonly HashSet<string> Locks = new(StringComparer.Ordinal)
    {
        "System.Threading.Monitor", "System.Threading.SemaphoreSlim", "System.Threading.Lock", "System.Threading.Mutex", "System.Threading.SpinLock",
        "System.Threading.ReaderWriterLockSlim",
    };

    /// <inheritdoc/>
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics => ImmutableArray.Create(Descriptors.SharedState);

    private protected override void Analyze(OperationAnalysisContext context, RunCall run, WeirTypes types)
    {
        if (run.Lambda is not { } lambda || run.IsOneAtATime)
        {
            return;
        }

        List<(IOperation At, ISymbol Written, string Advice)> writes = [];
        foreach (IOperation operation in lambda.Body.Descendants())
        {
            // Somebody has thought of it: what is locked, and where, is not judged.
            if (operation is ILockOperation
                || (operation is IInvocationOperation call && Locks.Contains(call.TargetMethod.ContainingType?.ToDisplayString() ?? "")))
            {
                return;
            }

            if (Written(operation, lambda) is { } write)
            {
                writes.Add((operation, write.Symbol, write.Advice));
            }
        }

        foreach ((IOperation at, ISymbol written, string advice) in writes)
        {
            context.ReportDiagnostic(Diagnostic.Create(Descriptors.SharedState, at.Syntax.GetLocation(), written.Name, advice));
        }
    }

    private static (ISymbol Symbol, string Advice)? Written(IOperation operation, IAnonymousFunctionOperation lambda)
    {
        const string variable = "use Interlocked, a lock, or the results of the run";
        switch (operation)
        {
            case IIncrementOrDecrementOperation change when Captured(change.Target, lambda) is { } symbol:
                return (symbol, variable);
            case IDeconstructionAssignmentOperation { Target: ITupleOperation tuple }:
                return tuple.Elements.Select(e => Captured(e, lambda)).FirstOrDefault(static s => s is not null) is { } one ? (one, variable) : null;
            case IAssignmentOperation assignment when Captured(assignment.Target, lambda) is { } symbol:
                return (symbol, variable);
            case IAssignmentOperation { Target: IPropertyReferenceOperation { Property.IsIndexer: true, Instance: { } instance } }:
                return Shared(instance, lambda) is { } indexed ? (indexed, Advice(instance)) : null;
            case IArgumentOperation { Parameter.RefKind: RefKind.Out } argument when Captured(argument.Value, lambda) is { } symbol:
                return (symbol, variable);
            case IInvocationOperation { Instance: { } instance } call when IsWriter(call.TargetMethod.Name) && Shared(instance, lambda) is { } symbol:
                return (symbol, Advice(instance));
            default:
                return null;
        }
    }

    private static bool IsWriter(string method) => Array.Exists(Writers, w => method.StartsWith(w, StringComparison.Ordinal));

    private static string Advice(IOperation collection) => collection.Type?.Name switch
    {
        "List" or "ArrayList" or "LinkedList" => "use the results of the run, a lock, or a ConcurrentQueue",
        "Dictionary" or "Hashtable" or "SortedDictionary" or "SortedList" => "use a ConcurrentDictionary or a lock",
        "Queue" => "use a ConcurrentQueue or a lock",
        "Stack" => "use a ConcurrentStack or a lock",
        _ => "use the results of the run, or a lock",
    };

    // A variable of the code around the lambda.
    private static ISymbol? Captured(IOperation target, IAnonymousFunctionOperation lambda)
    {
        ISymbol? symbol = target switch
        {
            ILocalReferenceOperation { IsDeclaration: false } local => local.Local,
            IParameterReferenceOperation parameter => parameter.Parameter,
            _ => null,
        };
        return symbol is not null && !IsInside(symbol, lambda) ? symbol : null;
    }

    // A collection that calls of several items see.
    private static ISymbol? Shared(IOperation instance, IAnonymousFunctionOperation lambda)
    {
        if (instance.Type is null || !Collections.Contains(instance.Type.OriginalDefinition.ToDisplayString()))
        {
            return null;
        }

        return instance switch
        {
            IFieldReferenceOperation { Instance: null or IInstanceReferenceOperation } field => field.Field,
            IPropertyReferenceOperation { Instance: null or IInstanceReferenceOperation } property => property.Property,
            _ => Captured(instance, lambda),
        };
    }

    private static bool IsInside(ISymbol symbol, IAnonymousFunctionOperation lambda) =>
        symbol.DeclaringSyntaxReferences.Any(r => r.SyntaxTree == lambda.Syntax.SyntaxTree && lambda.Syntax.Span.Contains(r.Span));
}
