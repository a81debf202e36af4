using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Weir.Analyzers.Calls;

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
