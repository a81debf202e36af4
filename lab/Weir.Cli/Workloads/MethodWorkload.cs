using System.Reflection;
using System.Runtime.Loader;
using Weir.Cli.Hosting;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>Static methods of a user's assembly, one for each group of workers.</summary>
internal sealed class MethodWorkload : IWorkload
{
    private readonly WorkloadSpec _spec;
    private readonly Dictionary<string, MethodInfo> _methods = [];

    /// <exception cref="BadInputException">The assembly or its methods cannot be used.</exception>
    public MethodWorkload(WorkloadSpec spec)
    {
        _spec = spec;
        Assembly assembly = Load(spec.Assembly!);
        foreach (string name in spec.Methods)
        {
            if (!_methods.TryAdd(GroupOf(name), Find(assembly, name)))
            {
                throw new BadInputException($"--method has two methods called '{GroupOf(name)}'; groups of workers need different names.");
            }
        }
    }

    public string Name => _spec.Name;

    /// <summary>The name of the group of workers that run a method.</summary>
    public static string GroupOf(string method) => method[(method.LastIndexOf('.') + 1)..];

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        if (_methods.Count > 1 && spec.Groups.FirstOrDefault(g => !_methods.ContainsKey(g.Name)) is { } unknown)
        {
            throw new BadInputException($"--groups must name the methods, as in {string.Join(',', _methods.Keys.Select(static m => m + ":1"))}; it has '{unknown.Name}'.");
        }

        return default;
    }

    public Operation CreateOperation(WorkerContext context)
    {
        MethodInfo method = _methods.Count == 1 ? _methods.Values.First() : _methods[context.Group];
        bool stoppable = method.GetParameters().Length == 1;
        Type result = method.ReturnType;
        (string binder, Type[] types) = result == typeof(void) ? (nameof(OfVoid), Type.EmptyTypes)
            : result == typeof(Task) ? (nameof(OfTask), [])
            : result == typeof(ValueTask) ? (nameof(OfValueTask), [])
            : Generic(result, typeof(Task<>)) is { } task ? (nameof(OfTaskResult), [task])
            : Generic(result, typeof(ValueTask<>)) is { } valueTask ? (nameof(OfValueTaskResult), [valueTask])
            : (nameof(OfResult), (Type[])[result]);
        MethodInfo make = typeof(MethodWorkload).GetMethod(binder, BindingFlags.NonPublic | BindingFlags.Static)!;
        make = types.Length > 0 ? make.MakeGenericMethod(types) : make;
        return (Operation)make.Invoke(null, [method, stoppable, context.Stopping])!;
    }

    private static Operation OfVoid(MethodInfo method, bool stoppable, CancellationToken stop) =>
        stoppable ? With(method.CreateDelegate<Action<CancellationToken>>(), c => Operation.Of(() => c(stop))) : Operation.Of(method.CreateDelegate<Action>());

    private static Operation OfResult<T>(MethodInfo method, bool stoppable, CancellationToken stop) =>
        stoppable ? With(method.CreateDelegate<Func<CancellationToken, T>>(), c => Operation.Of(() => c(stop))) : Operation.Of(method.CreateDelegate<Func<T>>());

    private static Operation OfTask(MethodInfo method, bool stoppable, CancellationToken stop) =>
        stoppable ? With(method.CreateDelegate<Func<CancellationToken, Task>>(), c => Operation.OfAsync(() => c(stop))) : Operation.OfAsync(method.CreateDelegate<Func<Task>>());

    private static Operation OfTaskResult<T>(MethodInfo method, bool stoppable, CancellationToken stop) =>
        stoppable ? With(method.CreateDelegate<Func<CancellationToken, Task<T>>>(), c => Operation.OfAsync(() => c(stop))) : Operation.OfAsync(method.CreateDelegate<Func<Task<T>>>());

    private static Operation OfValueTask(MethodInfo method, bool stoppable, CancellationToken stop) =>
        stoppable ? With(method.CreateDelegate<Func<CancellationToken, ValueTask>>(), c => Operation.OfAsync(() => c(stop))) : Operation.OfAsync(method.CreateDelegate<Func<ValueTask>>());

    private static Operation OfValueTaskResult<T>(MethodInfo method, bool stoppable, CancellationToken stop) =>
        stoppable ? With(method.CreateDelegate<Func<CancellationToken, ValueTask<T>>>(), c => Operation.OfAsync(() => c(stop))) : Operation.OfAsync(method.CreateDelegate<Func<ValueTask<T>>>());

    private static Operation With<T>(T call, Func<T, Operation> make) => make(call);

    private static Type? Generic(Type type, Type definition) =>
        type.IsGenericType && type.GetGenericTypeDefinition() == definition ? type.GetGenericArguments()[0] : null;

    private static Assembly Load(string path)
    {
        string full = Path.GetFullPath(path);
        if (!File.Exists(full))
        {
            throw new BadInputException($"--assembly must be an assembly that exists; it is '{path}'.");
        }

        try
        {
            AssemblyDependencyResolver resolver = new(full);
            AssemblyLoadContext context = new("workload");
            context.Resolving += (own, name) => resolver.ResolveAssemblyToPath(name) is { } found ? own.LoadFromAssemblyPath(found) : null;
            return context.LoadFromAssemblyPath(full);
        }
        catch (Exception e) when (e is BadImageFormatException or FileLoadException or InvalidOperationException)
        {
            throw new BadInputException($"--assembly '{path}' cannot be loaded: {e.Message}");
        }
    }

    private static MethodInfo Find(Assembly assembly, string name)
    {
        int dot = name.LastIndexOf('.');
        Type? type = dot > 0 ? assembly.GetType(name[..dot]) : null;
        MethodInfo[] found = [.. type?.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic).Where(m => m.Name == name[(dot + 1)..] && !m.IsGenericMethod && IsCallable(m)) ?? []];
        return found.Length == 1
            ? found[0]
            : throw new BadInputException($"--method must be one static method without parameters, or with a CancellationToken, as Namespace.Class.Method; '{name}' is {(found.Length == 0 ? "none" : "several")} in {assembly.GetName().Name}.");
    }

    private static bool IsCallable(MethodInfo method)
    {
        ParameterInfo[] parameters = method.GetParameters();
        bool fits = parameters.Length == 0 || (parameters.Length == 1 && parameters[0].ParameterType == typeof(CancellationToken));
        return fits && !method.ReturnType.IsByRefLike && !method.ReturnType.IsByRef;
    }
}
