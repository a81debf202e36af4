using System.IO.Enumeration;
using System.Runtime.Loader;
using System.Text.Json;

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

/// <summary>
/// Loads a user's assembly. It gets its dependencies from beside it, or else from the folder of the packages, whatever versions this program has, and shares
/// only the lab, whose types it implements.
/// </summary>
internal sealed class UserLoadContext(string path) : AssemblyLoadContext("user code")
{
    private static readonly string? Shared = typeof(IWorkload).Assembly.GetName().Name;

    private readonly AssemblyDependencyResolver _resolver = new(path);
    private readonly UserDependencies _packages = UserDependencies.Of(path);

    /// <summary>What the assembly refers to and is nowhere here, as a part of a sentence; <see langword="null"/> when there is nothing.</summary>
    public string? Missing(Assembly assembly)
    {
        // What this program has of a package is another version of it as likely as not.
        AssemblyName[] missing = [.. assembly.GetReferencedAssemblies().Where(name => name.Name != Shared &&
            PathOf(name) is null && !IsOfFramework(name) && (_packages.PackageOf(name) is not null || !IsOfThisProgram(name)))];
        return missing.Length == 0 ? null : string.Join(", ", missing.Select(name => _packages.PackageOf(name) ?? $"{name.Name} {name.Version}"));
    }

    protected override Assembly? Load(AssemblyName assemblyName) =>
        assemblyName.Name == Shared ? typeof(IWorkload).Assembly
        : PathOf(assemblyName) is { } found ? LoadFromAssemblyPath(found)
        : null;

    protected override nint LoadUnmanagedDll(string unmanagedDllName) =>
        (_resolver.ResolveUnmanagedDllToPath(unmanagedDllName) ?? _packages.NativePathOf(unmanagedDllName)) is { } found ? LoadUnmanagedDllFromPath(found) : 0;

    private string? PathOf(AssemblyName name) => _resolver.ResolveAssemblyToPath(name) ?? _packages.PathOf(name) ?? OfAnotherFramework(name);

    private static bool IsOfFramework(AssemblyName name) => File.Exists(Path.Combine(RuntimeEnvironment.GetRuntimeDirectory(), name.Name + ".dll"));

    private static bool IsOfThisProgram(AssemblyName name)
    {
        try
        {
            return Default.LoadFromAssemblyName(name) is not null;
        }
        catch (Exception e) when (e is FileNotFoundException or FileLoadException or BadImageFormatException)
        {
            return false;
        }
    }

    // This program has the base framework only; a user's code may need another one that is installed, such as that of ASP.NET.
    private static string? OfAnotherFramework(AssemblyName name)
    {
        DirectoryInfo own = new(RuntimeEnvironment.GetRuntimeDirectory());
        if (IsOfFramework(name) || own.Parent is not { Parent: { Exists: true } frameworks }
            || !Version.TryParse(own.Name.Split('-')[0], out Version? version))
        {
            return null;
        }

        return frameworks.EnumerateDirectories()
            .SelectMany(static f => f.EnumerateDirectories())
            .Select(static d => (Folder: d.FullName, Version: Version.TryParse(d.Name.Split('-')[0], out Version? other) ? other : null))
            .Where(d => d.Version?.Major == version.Major)
            .OrderBy(static d => d.Version)
            .Select(d => Path.Combine(d.Folder, name.Name + ".dll"))
            .LastOrDefault(File.Exists);
    }
}

/// <summary>
/// Where the packages of a user's assembly lie that its build did not copy beside it, as that of a library does not: its <c>.deps.json</c> names them, and the
/// folder of the packages has them.
/// </summary>
internal sealed class UserDependencies
{
    private readonly Dictionary<string, string> _assemblies = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, (int Rank, string Path)> _natives = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, string> _packages = new(StringComparer.OrdinalIgnoreCase);

    private UserDependencies()
    {
    }

    /// <summary>Reads what a build has written beside an assembly; empty where it wrote nothing that can be read.</summary>
    public static UserDependencies Of(string assembly)
    {
        UserDependencies found = new();
        string file = Path.ChangeExtension(assembly, ".deps.json");
        if (!File.Exists(file))
        {
            return found;
        }

        try
        {
            using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(file));
            found.Read(document.RootElement, FoldersOf(assembly));
        }
        catch (Exception e) when (e is JsonException or KeyNotFoundException or InvalidOperationException or IOException or UnauthorizedAccessException)
        {
            // Then it is as good as absent; what is missing for that is told by name.
        }

        return found;
    }

    /// <summary>The file of an assembly; <see langword="null"/> when no package that is here has it.</summary>
    public string? PathOf(AssemblyName name) => _assemblies.GetValueOrDefault(KeyOf(name.Name!, name.CultureName));

    /// <summary>The package that has an assembly, with its version, whether it is here or not; <see langword="null"/> when none has it.</summary>
    public string? PackageOf(AssemblyName name) => _packages.GetValueOrDefault(name.Name!);

    /// <summary>The file of a native library for this system; <see langword="null"/> when no package that is here has it.</summary>
    public string? NativePathOf(string name) =>
        Names(name).Select(n => _natives.GetValueOrDefault(n).Path).FirstOrDefault(static p => p is not null);

    private static IEnumerable<string> Names(string name) =>
        OperatingSystem.IsWindows() ? [name, name + ".dll"]
        : OperatingSystem.IsMacOS() ? [name, $"lib{name}.dylib", name + ".dylib", "lib" + name]
        : [name, $"lib{name}.so", name + ".so", "lib" + name];

    private static string KeyOf(string name, string? culture) => string.IsNullOrEmpty(culture) ? name : $"{culture}/{name}";

    // What the build of the project was told, if it is still there, and otherwise what holds on this machine.
    private static List<string> FoldersOf(string assembly)
    {
        List<string> folders = [];
        if (Environment.GetEnvironmentVariable("NUGET_PACKAGES") is { Length: > 0 } given)
        {
            folders.Add(given);
        }

        string name = Path.GetFileNameWithoutExtension(assembly);
        for (string? at = Path.GetDirectoryName(assembly); at is not null; at = Path.GetDirectoryName(at))
        {
            string? restored = new[] { Path.Combine(at, "obj", "project.assets.json"), Path.Combine(at, "obj", name, "project.assets.json") }
                .FirstOrDefault(File.Exists);
            if (restored is not null)
            {
                using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(restored));
                folders.AddRange(document.RootElement.GetProperty("packageFolders").EnumerateObject().Select(static f => f.Name));
                break;
            }
        }

        folders.Add(Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages"));
        return folders;
    }

    // From what is for exactly this system to what is for all.
    private static string[] Systems()
    {
        string architecture = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();
        string[] families = OperatingSystem.IsWindows() ? ["win"]
            : OperatingSystem.IsMacOS() ? ["osx", "unix"]
            : RuntimeInformation.RuntimeIdentifier.Contains("musl", StringComparison.Ordinal) ? ["linux-musl", "linux", "unix"]
            : ["linux", "unix"];
        return [RuntimeInformation.RuntimeIdentifier, .. families.SelectMany(f => new[] { $"{f}-{architecture}", f }), "any"];
    }

    private void Read(JsonElement root, List<string> folders)
    {
        string[] systems = Systems();
        JsonElement libraries = root.GetProperty("libraries");
        foreach (JsonProperty library in root.GetProperty("targets").GetProperty(root.GetProperty("runtimeTarget").GetProperty("name").GetString()!)
            .EnumerateObject())
        {
            if (!libraries.TryGetProperty(library.Name, out JsonElement kind) || kind.GetProperty("type").GetString() != "package")
            {
                continue;
            }

            string relative = kind.TryGetProperty("path", out JsonElement path) ? path.GetString()! : library.Name.ToLowerInvariant();
            string? folder = folders.Select(f => Path.Combine(f, relative)).FirstOrDefault(Directory.Exists);
            foreach (JsonProperty asset in Assets(library.Value, "runtime"))
            {
                string name = Path.GetFileNameWithoutExtension(asset.Name);
                _packages.TryAdd(name, library.Name.Replace('/', ' '));
                Add(_assemblies, name, folder, asset.Name);
            }

            foreach (JsonProperty asset in Assets(library.Value, "resources"))
            {
                Add(_assemblies, KeyOf(Path.GetFileNameWithoutExtension(asset.Name), asset.Value.GetProperty("locale").GetString()), folder, asset.Name);
            }

            foreach (JsonProperty asset in Assets(library.Value, "native"))
            {
                AddNative(0, folder, asset.Name);
            }

            foreach ((JsonProperty asset, int rank) in Assets(library.Value, "runtimeTargets")
                .Select(a => (Asset: a, Rank: Array.IndexOf(systems, a.Value.GetProperty("rid").GetString())))
                .Where(static a => a.Rank >= 0)
                .OrderByDescending(static a => a.Rank))
            {
                if (asset.Value.GetProperty("assetType").GetString() == "native")
                {
                    AddNative(rank, folder, asset.Name);
                }
                else
                {
                    // The last is the nearest, and comes before what is for all systems.
                    _assemblies.Remove(Path.GetFileNameWithoutExtension(asset.Name));
                    Add(_assemblies, Path.GetFileNameWithoutExtension(asset.Name), folder, asset.Name);
                }
            }
        }
    }

    private static JsonProperty[] Assets(JsonElement library, string kind) =>
        library.TryGetProperty(kind, out JsonElement assets) ? [.. assets.EnumerateObject()] : [];

    private static void Add(Dictionary<string, string> files, string key, string? folder, string asset)
    {
        if (folder is not null && Path.Combine(folder, asset) is var path && File.Exists(path))
        {
            files.TryAdd(key, path);
        }
    }

    private void AddNative(int rank, string? folder, string asset)
    {
        string name = Path.GetFileName(asset);
        if (folder is not null && Path.Combine(folder, asset) is var path && File.Exists(path)
            && (!_natives.TryGetValue(name, out (int Rank, string Path) other) || rank < other.Rank))
        {
            _natives[name] = (rank, path);
        }
    }
}

/// <summary>What is measured of a user's assembly: a method, or a class that is a workload.</summary>
/// <param name="Type">The class.</param>
/// <param name="Method">The method; <see langword="null"/> for a class that is a workload.</param>
internal sealed record UserMember(Type Type, MethodInfo? Method)
{
    /// <summary>The full name, as one types it.</summary>
    public string Name => Method is null ? NameOf(Type) : $"{NameOf(Type)}.{Method.Name}";

    /// <summary>Whether there is an object of the class: not for a static method.</summary>
    public bool HasObject => Method is not { IsStatic: true };

    /// <summary>The name of a class as one types it, also of one within another.</summary>
    public static string NameOf(Type type) => (type.FullName ?? type.Name).Replace('+', '.');
}

/// <summary>Texts as values of a type.</summary>
internal static class UserParameter
{
    private static readonly Dictionary<Type, string> Keywords = new()
    {
        [typeof(bool)] = "bool", [typeof(byte)] = "byte", [typeof(sbyte)] = "sbyte", [typeof(char)] = "char", [typeof(decimal)] = "decimal",
        [typeof(double)] = "double", [typeof(float)] = "float",
        [typeof(int)] = "int", [typeof(uint)] = "uint", [typeof(long)] = "long", [typeof(ulong)] = "ulong", [typeof(short)] = "short",
        [typeof(ushort)] = "ushort", [typeof(string)] = "string", [typeof(object)] = "object",
    };

    /// <summary>The name of a type as one writes it.</summary>
    public static string NameOf(Type type) =>
        Nullable.GetUnderlyingType(type) is { } inner ? NameOf(inner) + "?"
        : type.IsArray ? NameOf(type.GetElementType()!) + "[]"
        : Keywords.TryGetValue(type, out string? keyword) ? keyword : type.Name.Split('`')[0];

    /// <summary>Whether a text can be a value of a type.</summary>
    public static bool CanRead(Type type)
    {
        Type own = Nullable.GetUnderlyingType(type) ?? type;
        return own == typeof(string) || own.IsEnum || ParserOf(own) is not null;
    }

    /// <summary>A text as a value of a type.</summary>
    public static object Read(Type type, OptionValue given)
    {
        Type own = Nullable.GetUnderlyingType(type) ?? type;
        if (own == typeof(string))
        {
            return given.Text;
        }

        if (own.IsEnum)
        {
            return Enum.TryParse(own, given.Text, ignoreCase: true, out object? value)
                ? value
                : throw given.Bad($"one of {string.Join(", ", Enum.GetNames(own))}");
        }

        // As in all options: 10us, and the platform's 00:00:01 as well.
        if (own == typeof(TimeSpan) && given.Text.Length > 0 && char.IsAsciiLetter(given.Text[^1]))
        {
            return given.Time(TimeSpan.Zero, TimeSpan.FromDays(1), "10us");
        }

        try
        {
            return ParserOf(own)!.Invoke(null, [given.Text])!;
        }
        catch (TargetInvocationException e) when (e.InnerException is FormatException or OverflowException or ArgumentException)
        {
            throw given.Bad($"a value of the type {NameOf(own)}");
        }
    }

    private static MethodInfo? ParserOf(Type type) =>
        type.GetInterfaces().Any(i => i.IsGenericType && i.GetGenericTypeDefinition() == typeof(IParsable<>) && i.GetGenericArguments()[0] == type)
        ? typeof(UserParameter).GetMethod(nameof(Parse), BindingFlags.NonPublic | BindingFlags.Static)!.MakeGenericMethod(type)
        : null;

    private static T Parse<T>(string text)
        where T : IParsable<T> => T.Parse(text, CultureInfo.InvariantCulture);
}
