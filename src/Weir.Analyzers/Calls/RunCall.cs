using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Weir.Analyzers.Calls;

/// <summary>A call of an operator or a runtime: the user's call of an item, and the options as far as they are written there.</summary>
internal sealed class RunCall
{
    private static readonly string[] Names = ["selector", "action", "batchSelector", "processor"];

    private RunCall(IInvocationOperation invocation, IOperation call, IReadOnlyDictionary<string, IOperation> options)
    {
        Invocation = invocation;
        Call = call;
        Options = options;
    }

    public IInvocationOperation Invocation { get; }

    /// <summary>What is given as the call of an item: a lambda, a method group, or anything else.</summary>
    public IOperation Call { get; }

    public IAnonymousFunctionOperation? Lambda => Call as IAnonymousFunctionOperation;

    public IMethodReferenceOperation? Method => Call as IMethodReferenceOperation;

    /// <summary>The options that are set where the run is called, by name.</summary>
    public IReadOnlyDictionary<string, IOperation> Options { get; }

    /// <summary>Whether no two calls of the run ever run at once.</summary>
    public bool IsOneAtATime => Options.TryGetValue("MaxDegreeOfParallelism", out IOperation? limit) && limit.ConstantValue is { HasValue: true, Value: 1 };

    public static RunCall? Of(IInvocationOperation invocation, WeirTypes types)
    {
        IOperation? call = null;
        Dictionary<string, IOperation> options = [];
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
            else if (types.IsOptions(parameter.Type) && Inside(argument.Value) is IObjectCreationOperation { Initializer: { } initializer })
            {
                foreach (ISimpleAssignmentOperation set in initializer.Initializers.OfType<ISimpleAssignmentOperation>())
                {
                    if (set.Target is IPropertyReferenceOperation property)
                    {
                        options[property.Property.Name] = Inside(set.Value);
                    }
                }
            }
        }

        return call is null ? null : new RunCall(invocation, call, options);
    }

    private static IOperation Inside(IOperation value)
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
