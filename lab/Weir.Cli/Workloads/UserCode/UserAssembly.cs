using System.IO.Enumeration;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>A user's assembly, and its measurable members. Inspecting it does not run any of its code.</summary>
internal sealed class UserAssembly
{
    private const BindingFlags All = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.FlattenHierarchy;
    private const int MostNames = 8;
    private static readonly string[] Disposing = [nameof(IDisposable.Dispose), nameof(IAsyncDisposable.DisposeAsync)];

    private readonly string _file;
    private readonly Type[] _types;

    private UserAssembly(string file, Type[] types) => (_file, _types) = (file, types);

    /// <summary>The classes that are workloads, by their full names.</summary>
    public IReadOnlyList<string> Workloads => [.. _types.Where(static t => IsWorkload(t) && IsUsable(t)).Select(UserMember.NameOf)];

    public static UserAssembly Load(string path)
    {
        string full = Path.GetFullPath(path);
        if (!File.Exists(full))
        {
            throw new BadInputException($"--assembly must be an assembly that exists; it is '{path}'.");
        }

        try
        {
            UserLoadContext context = new(full);
            Assembly assembly = context.LoadFromAssemblyPath(full);
            if (context.Missing(assembly) is { } missing)
            {
                throw new BadInputException($"--assembly '{path}' needs {missing}, which is neither beside it nor in the folder of the packages; build it with "
                    + "-p:CopyLocalLockFileAssemblies=true, so that what it needs lies beside it.");
            }

            return new UserAssembly(
                Path.GetFileName(full), [.. TypesOf(assembly).Where(static t => !t.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false))]);
        }
        catch (Exception e) when (e is BadImageFormatException or FileLoadException or InvalidOperationException or UnauthorizedAccessException)
        {
            throw new BadInputException($"--assembly '{path}' cannot be loaded: {e.Message}");
        }
    }

    /// <summary>Finds a member by its full name, or by a unique end of it.</summary>
    public UserMember Find(string name)
    {
        Type[] types = Named(_types, UserMember.NameOf, name);
        (Type Type, MethodInfo Method)[] methods = Named(Methods(), static m => $"{UserMember.NameOf(m.Type)}.{m.Method.Name}", name);
        if (types.Length == 1 && (methods.Length == 0 || IsWorkload(types[0])))
        {
            return Workload(types[0], name);
        }

        string[] owners = [.. methods.Select(static m => UserMember.NameOf(m.Type)).Distinct()];
        if (types.Length > 1 || owners.Length > 1)
        {
            IEnumerable<string> names = types.Length > 1 ? types.Select(UserMember.NameOf) : owners.Select(o => $"{o}.{methods[0].Method.Name}");
            throw Bad(name, $"matches several methods and classes of {_file}: {string.Join(", ", names.Take(MostNames))}; give the whole name");
        }

        if (methods.Length == 0)
        {
            throw Bad(name, $"is not in {_file}{Nearest(name)}");
        }

        (Type Type, MethodInfo Method)[] callable = [.. methods.Where(static m => FindProblem(m.Type, m.Method) is null)];
        return callable.Length switch
        {
            1 => new UserMember(callable[0].Type, callable[0].Method),
            0 => throw Bad(name, methods.Length == 1
                ? FindProblem(methods[0].Type, methods[0].Method)!
                : $"has {methods.Length} overloads in {_file}, and none without parameters or with only a CancellationToken"),
            _ => throw Bad(name, $"has {callable.Length} overloads in {_file} that can be measured; rename one of them"),
        };
    }

    /// <summary>The public methods and the workloads that can be measured and whose full names match a pattern, in the order of their names.</summary>
    /// <param name="pattern">The pattern: a star stands for any text, a question mark for any letter.</param>
    public IReadOnlyList<string> Matching(string pattern) =>
    [
        .. Workloads
            .Concat(Methods()
                .Where(static m => m.Method.IsPublic && FindProblem(m.Type, m.Method) is null && !IsWorkload(m.Type) && m.Method != m.Type.Assembly.EntryPoint
                    && !Disposing.Contains(m.Method.Name))
                .GroupBy(static m => $"{UserMember.NameOf(m.Type)}.{m.Method.Name}")
                .Where(static g => g.Count() == 1)
                .Select(static g => g.Key))
            .Where(name => FileSystemName.MatchesSimpleExpression(pattern, name, ignoreCase: true))
            .Order(StringComparer.Ordinal),
    ];

    /// <summary>What can be measured, as a part of a sentence.</summary>
    public string Nearest(string name)
    {
        string[] names = [.. Workloads, .. Methods().Where(static m => FindProblem(m.Type, m.Method) is null && !IsWorkload(m.Type))
            .Select(static m => $"{UserMember.NameOf(m.Type)}.{m.Method.Name}")
            .Distinct()];
        IReadOnlyList<string> near = NearestNames.Of(name, names);
        return near.Count == 0 ? ", nor anything else measurable" : $"; the nearest {(near.Count == 1 ? "is" : "are")} {string.Join(", ", near)}";
    }

    private IEnumerable<(Type Type, MethodInfo Method)> Methods() => _types
        .SelectMany(static t => t.GetMethods(All)
            .Where(static m => !m.IsSpecialName && !m.Name.Contains('<') && m.GetBaseDefinition().DeclaringType != typeof(object)), static (t, m) => (t, m));

    private string Example(Type type) =>
        Methods().FirstOrDefault(m => m.Type == type && FindProblem(type, m.Method) is null).Method is { } method
            ? $", as {UserMember.NameOf(type)}.{method.Name}"
            : "";

    private UserMember Workload(Type type, string name) =>
        !IsWorkload(type)
            ? throw Bad(name, $"is a class of {_file} that does not implement {typeof(IWorkload).FullName}; name one of its methods{Example(type)}")
        : FindObjectProblem(type) is { } why ? throw Bad(name, why)
        : new UserMember(type, null);

    private static bool IsWorkload(Type type) => typeof(IWorkload).IsAssignableFrom(type);

    private static bool IsUsable(Type type) => FindObjectProblem(type) is null;

    private static string? FindObjectProblem(Type type) =>
        !type.IsClass ? "is not a class"
        : type.IsAbstract ? "is abstract, so it has no objects"
        : type.ContainsGenericParameters ? "is generic; derive a class from it with type arguments"
        : null;

    private static string? FindProblem(Type type, MethodInfo method) =>
        method.IsGenericMethod || type.ContainsGenericParameters ? "is generic; write a method without type parameters that calls it"
        : !method.IsStatic && FindObjectProblem(type) is not null ? "is an instance method, and its class " + FindObjectProblem(type)
        : method.GetParameters() is { Length: > 0 } parameters && !(parameters.Length == 1 && parameters[0].ParameterType == typeof(CancellationToken))
            ? $"takes ({string.Join(", ", parameters.Select(static p => UserParameter.NameOf(p.ParameterType)))}); a measured method has no "
                + $"parameters, or a CancellationToken; make them properties of its class, and set them with --param"
        : method.ReturnType.IsByRefLike || method.ReturnType.IsByRef ? "returns a reference, which cannot be kept as a result"
        : method.ReturnType == typeof(void) && method.IsDefined(typeof(AsyncStateMachineAttribute))
        ? "is async void, so its end cannot be detected; let it return a Task"
        : null;

    private static Type[] TypesOf(Assembly assembly)
    {
        try
        {
            return assembly.GetTypes();
        }
        catch (ReflectionTypeLoadException e)
        {
            // Those whose dependencies are missing are left out.
            return [.. e.Types.OfType<Type>()];
        }
    }

    // A full name takes precedence over the end of another.
    private static T[] Named<T>(IEnumerable<T> all, Func<T, string> nameOf, string name)
    {
        T[] ending = [.. all.Where(t => nameOf(t) == name || nameOf(t).EndsWith("." + name, StringComparison.Ordinal))];
        T[] whole = [.. ending.Where(t => nameOf(t) == name)];
        return whole.Length > 0 ? whole : ending;
    }

    private static BadInputException Bad(string name, string why) => new($"--method '{name}' {why}.");
}
