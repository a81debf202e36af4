using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Weir.Analyzers.Calls;

/// <summary>A call of an operator or a runtime: the user's call of an item, and the options as far as they are written there.</summary>
internal sealed class RunCall
{
    private static readonly string[] Names = ["selector", "action", "batchSelector", "batchAction", "processor"];

    // The options that are objects with options of their own. An option has another name in each, so that rules look for it by its name alone.
    private static readonly string[] Groups = ["Retry", "Hooks", "Items", "Output", "Metrics"];

    private static readonly IReadOnlyDictionary<string, IOperation> None = new Dictionary<string, IOperation>();

    private RunCall(IInvocationOperation invocation, IOperation call, IArgumentOperation? source, IOperation? options)
    {
        Invocation = invocation;
        Call = call;
        HasKeys = source is not null && IsKeyed(Inside(source.Value).Type);
        if (HasKeys && Inside(source!.Value) is IInvocationOperation { TargetMethod.Name: "PartitionBy" or "PartitionBatchesBy" } keys)
        {
            source = keys.Arguments.FirstOrDefault(static a => a.Parameter?.Name == "source");
        }

        Source = source is null ? null : Inside(source.Value);
        SourceType = source?.Parameter?.Type;
        Options = options is null ? None : Written(options) ?? None;
        NothingIsSetElsewhere = (options is null or IObjectCreationOperation or IDefaultValueOperation || IsNull(options))
            && Groups.All(name => !Options.TryGetValue(name, out IOperation? group) || IsNull(group) || group is IObjectCreationOperation);
    }

    public IInvocationOperation Invocation { get; }

    /// <summary>What is given as the call of an item: a lambda, a method group, or anything else.</summary>
    public IOperation Call { get; }

    public IAnonymousFunctionOperation? Lambda => Call as IAnonymousFunctionOperation;

    public IMethodReferenceOperation? Method => Call as IMethodReferenceOperation;

    /// <summary>The items, as they are written: where they get their keys at the call, what is there before.</summary>
    public IOperation? Source { get; }

    /// <summary>What the method takes as the items.</summary>
    public ITypeSymbol? SourceType { get; }

    /// <summary>
    /// The options that are set where the run is called, by name: in a new object, or in a changed copy of another. Those of a group are among them.
    /// </summary>
    public IReadOnlyDictionary<string, IOperation> Options { get; }

    /// <summary>Whether no option is set elsewhere: there are none, or all of them are written here.</summary>
    public bool NothingIsSetElsewhere { get; }

    /// <summary>Whether the items or batches have keys.</summary>
    public bool HasKeys { get; }

    /// <summary>Whether no two calls of the run ever run at once.</summary>
    public bool IsOneAtATime => Options.TryGetValue("MaxDegreeOfParallelism", out IOperation? limit) && limit.ConstantValue is { HasValue: true, Value: 1 };

    public static RunCall? Of(IInvocationOperation invocation, WeirTypes types)
    {
        IOperation? call = null;
        IOperation? options = null;
        IArgumentOperation? source = null;
        foreach (IArgumentOperation argument in invocation.Arguments)
        {
            if (argument.Parameter is not { } parameter)
            {
                continue;
            }

            if (Names.Contains(parameter.Name) && parameter.Type.TypeKind == TypeKind.Delegate)
            {
                call = Inside(argument.Value);
            }
            else if (types.IsOptions(parameter.Type))
            {
                options = Inside(argument.Value);
            }
            else if (parameter.Name is "source" or "items")
            {
                source = argument;
            }
        }

        return call is null ? null : new RunCall(invocation, call, source, options);
    }

    /// <summary>The properties that are set in a new object or in a changed copy of another; <see langword="null"/> if it is neither.</summary>
    public static IReadOnlyDictionary<string, IOperation>? Written(IOperation value)
    {
        IObjectOrCollectionInitializerOperation? initializer;
        switch (value)
        {
            case IObjectCreationOperation creation:
                initializer = creation.Initializer;
                break;
            case IWithOperation copy:
                initializer = copy.Initializer;
                break;
            default:
                return null;
        }

        Dictionary<string, IOperation> written = [];
        foreach (ISimpleAssignmentOperation set in initializer?.Initializers.OfType<ISimpleAssignmentOperation>() ?? [])
        {
            if (set.Target is IPropertyReferenceOperation property)
            {
                IOperation inside = Inside(set.Value);
                written[property.Property.Name] = inside;
                if (Groups.Contains(property.Property.Name))
                {
                    foreach (KeyValuePair<string, IOperation> option in Written(inside) ?? None)
                    {
                        written[option.Key] = option.Value;
                    }
                }
            }
        }

        return written;
    }

    private static bool IsNull(IOperation value) => value is IDefaultValueOperation || value.ConstantValue is { HasValue: true, Value: null };

    private static bool IsKeyed(ITypeSymbol? type) =>
        type is { Name: "PartitionedItems" or "PartitionedAsyncItems", ContainingNamespace: { Name: "Weir", ContainingNamespace.IsGlobalNamespace: true } };

    /// <summary>A value without the conversions around it.</summary>
    public static IOperation Inside(IOperation value)
    {
        while (true)
        {
            switch (value)
            {
                case IConversionOperation conversion:
                    value = conversion.Operand;
                    break;
                case IDelegateCreationOperation creation:
                    value = creation.Target;
                    break;
                case IParenthesizedOperation parenthesized:
                    value = parenthesized.Operand;
                    break;
                default:
                    return value;
            }
        }
    }
}
