using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;
using Weir.Analyzers.Calls;

namespace Weir.Analyzers.Rules;

/// <summary>
/// WEIR002: a captured variable, a member that is changed by what it was, or a collection that is not thread-safe is written in a call that runs for several
/// items at once.
/// </summary>
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

    private const string Variable = "use Interlocked, a lock, or the results of the run";

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
        switch (operation)
        {
            case IIncrementOrDecrementOperation change:
                return Changed(change.Target, lambda);
            case ICompoundAssignmentOperation change:
                return Changed(change.Target, lambda);
            case IDeconstructionAssignmentOperation { Target: ITupleOperation tuple }:
                return tuple.Elements.Select(e => Captured(e, lambda)).FirstOrDefault(static s => s is not null) is { } one ? (one, Variable) : null;
            case IAssignmentOperation assignment when Captured(assignment.Target, lambda) is { } symbol:
                return (symbol, Variable);
            case IAssignmentOperation { Target: IPropertyReferenceOperation { Property.IsIndexer: true, Instance: { } instance } }:
                return Shared(instance, lambda) is { } indexed ? (indexed, Advice(instance)) : null;
            case IArgumentOperation { Parameter.RefKind: RefKind.Out } argument when Captured(argument.Value, lambda) is { } symbol:
                return (symbol, Variable);
            case IInvocationOperation { Instance: { } instance } call when IsWriter(call.TargetMethod.Name) && Shared(instance, lambda) is { } symbol:
                return (symbol, Advice(instance));
            default:
                return null;
        }
    }

    // What is read and written in one, as n++ does: others may have written in between. A member that is only set may be a flag, and is left alone.
    private static (ISymbol Symbol, string Advice)? Changed(IOperation target, IAnonymousFunctionOperation lambda)
    {
        if (Captured(target, lambda) is { } variable)
        {
            return (variable, Variable);
        }

        if (target is not IMemberReferenceOperation { Member: var member, Instance: var instance } || !IsSeenByOthers(target, lambda))
        {
            return null;
        }

        return target is not IPropertyReferenceOperation { Property.IsIndexer: true } ? (member, Variable)
            : instance?.Type?.OriginalDefinition.ToDisplayString() == "System.Collections.Concurrent.ConcurrentDictionary<TKey, TValue>"
                ? (Name(instance), "use AddOrUpdate")
            : Shared(instance!, lambda) is { } collection ? (collection, Advice(instance!))
            : null;

        ISymbol Name(IOperation dictionary) => Captured(dictionary, lambda) ?? (dictionary as IMemberReferenceOperation)?.Member ?? member;
    }

    // A member of this object, of a type, or of a captured variable, however many members are between. Each thread has those of a ThreadLocal for itself.
    private static bool IsSeenByOthers(IOperation? target, IAnonymousFunctionOperation lambda) => target switch
    {
        IMemberReferenceOperation { Member: var member, Instance: var instance } =>
            member.ContainingType?.Name is not ("ThreadLocal" or "AsyncLocal")
            && !member.GetAttributes().Any(static a => a.AttributeClass?.Name == nameof(ThreadStaticAttribute))
            && (instance is null or IInstanceReferenceOperation || IsSeenByOthers(instance, lambda)),
        null => false,
        _ => Captured(target, lambda) is not null,
    };

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

            // A part of a structure is a part of the variable.
            IFieldReferenceOperation { Instance: { Type.IsValueType: true } whole } => Captured(whole, lambda),
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
