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

/// <summary>The types of one compilation that the rules ask for.</summary>
internal sealed class WeirTypes
{
    private readonly INamedTypeSymbol? _operators;
    private readonly INamedTypeSymbol? _runtime;
    private readonly INamedTypeSymbol? _runtimeExtensions;
    private readonly INamedTypeSymbol? _runOptions;
    private readonly INamedTypeSymbol? _processManyOptions;
    private readonly INamedTypeSymbol? _query;
    private readonly INamedTypeSymbol? _queryExtensions;
    private readonly INamedTypeSymbol?[] _tasks;
    private readonly INamedTypeSymbol?[] _disposables;

    private WeirTypes(Compilation compilation)
    {
        _operators = compilation.GetTypeByMetadataName("Weir.ParallelOperators");
        _runtime = compilation.GetTypeByMetadataName("Weir.Runtimes.IExecutionRuntime");
        _runtimeExtensions = compilation.GetTypeByMetadataName("Weir.Runtimes.ExecutionRuntimeExtensions");
        _runOptions = compilation.GetTypeByMetadataName("Weir.ParallelRunOptions");
        _processManyOptions = compilation.GetTypeByMetadataName("Weir.Runtimes.ProcessManyOptions");
        _query = compilation.GetTypeByMetadataName("System.Linq.IQueryable");
        _queryExtensions = compilation.GetTypeByMetadataName("Microsoft.EntityFrameworkCore.EntityFrameworkQueryableExtensions");
        CancellationToken = compilation.GetTypeByMetadataName("System.Threading.CancellationToken");
        _disposables = [compilation.GetTypeByMetadataName("System.IDisposable"), compilation.GetTypeByMetadataName("System.IAsyncDisposable")];
        _tasks =
        [
            compilation.GetTypeByMetadataName("System.Threading.Tasks.Task"),
            compilation.GetTypeByMetadataName("System.Threading.Tasks.Task`1"),
            compilation.GetTypeByMetadataName("System.Threading.Tasks.ValueTask"),
            compilation.GetTypeByMetadataName("System.Threading.Tasks.ValueTask`1"),
        ];
    }

    public INamedTypeSymbol? CancellationToken { get; }

    /// <summary>Those of a compilation; <see langword="null"/> if it has no Weir.</summary>
    public static WeirTypes? Of(Compilation compilation)
    {
        WeirTypes types = new(compilation);
        return types._operators is null ? null : types;
    }

    /// <summary>Whether a method runs calls of the user's for items.</summary>
    public bool IsRun(IMethodSymbol method)
    {
        INamedTypeSymbol? type = method.ContainingType?.OriginalDefinition;
        return type is not null
            && (Same(type, _operators) || Same(type, _runtimeExtensions)
                || (method.Name.StartsWith("ProcessMany", StringComparison.Ordinal) && IsRuntime(type)));
    }

    /// <summary>Whether a method is an operator, and not of a runtime.</summary>
    public bool IsOperator(IMethodSymbol method) => Same(method.ContainingType?.OriginalDefinition, _operators);

    /// <summary>Whether a type is that of queries of a provider that can also read them asynchronously.</summary>
    public bool IsQuery(ITypeSymbol? type) =>
        _queryExtensions is not null && type is not null && (Same(type, _query) || type.AllInterfaces.Any(i => Same(i, _query)));

    public bool IsOptions(ITypeSymbol? type) => Same(type, _runOptions) || Same(type, _processManyOptions);

    public bool IsToken(ITypeSymbol? type) => Same(type, CancellationToken);

    public bool IsTask(ITypeSymbol? type) => type is not null && _tasks.Any(task => Same(type.OriginalDefinition, task));

    /// <summary>Whether a type is that of tasks whose results are tasks.</summary>
    public bool IsTaskOfTask(ITypeSymbol? type) => IsTask(type) && type is INamedTypeSymbol { TypeArguments.Length: 1 } task && IsTask(task.TypeArguments[0]);

    public bool IsDisposable(ITypeSymbol type) =>
        !IsTask(type) && _disposables.Any(disposable => Same(type, disposable) || type.AllInterfaces.Any(i => Same(i, disposable)));

    /// <summary>The run that an operation calls; <see langword="null"/> if it calls something else.</summary>
    public RunCall? RunOf(IOperation operation) => operation is IInvocationOperation call && IsRun(call.TargetMethod) ? RunCall.Of(call, this) : null;

    private bool IsRuntime(INamedTypeSymbol type) => _runtime is not null && (Same(type, _runtime) || type.AllInterfaces.Any(i => Same(i, _runtime)));

    private static bool Same(ITypeSymbol? one, ITypeSymbol? other) => one is not null && SymbolEqualityComparer.Default.Equals(one, other);
}
