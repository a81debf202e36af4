using System.Reflection;
using System.Runtime.Loader;
using System.Security.Cryptography;

namespace Weir.Explore.Rewriting;

/// <summary>The assemblies of a test, rewritten and loaded. They are written once for each content, to a folder of the user's temporary files.</summary>
internal sealed class RewrittenProgram(AssemblyLoadContext context)
{
    private static readonly Dictionary<string, RewrittenProgram> Loaded = [];

    public Statics Statics { get; } = new();

    /// <summary>The program of a test assembly. It is written and loaded once in a process.</summary>
    public static RewrittenProgram Of(Assembly test, ExploreOptions options)
    {
        string[] types = [.. options.PointsAtFieldsOf.Select(static t => t.FullName!).Order(StringComparer.Ordinal)];
        IReadOnlyCollection<string>? meant = options.DataRaces ? [.. options.MeantRaces.Order(StringComparer.Ordinal)] : null;
        string state = options.IsReduced ? "conflicts|" : "";
        string how = $"{state}{options.StoreBuffers}|{(meant is null ? "" : $"races {string.Join('|', meant)}")}|{string.Join('|', types)}";
        string key = $"{test.Location}|{how}";
        if (!Loaded.TryGetValue(key, out RewrittenProgram? program))
        {
            Dictionary<string, string> originals = [];
            HashSet<string> all = [];
            Collect(test.Location, originals, all);
            Require(meant ?? [], originals.Values);
            program = Load(originals, all, how, (path, target) => AssemblyRewriter.Rewrite(
                path, target, f => types.Contains(f.DeclaringType.GetElementType().FullName.Replace('/', '+')), options.StoreBuffers, meant,
                options.IsReduced));
            Loaded.Add(key, program);
        }

        return program;
    }

    /// <summary>The method of the rewritten program that stands for a body, on a copy of its object.</summary>
    public Func<Task> Bind(Delegate body)
    {
        object? target = body.Target is null ? null : new ClosureCopy(Type).Of(body.Target);
        Type type = target?.GetType() ?? Type(body.Method.DeclaringType!);
        MethodInfo method = type.GetMethod(body.Method.Name, BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic)
            ?? throw new InvalidOperationException($"The rewritten program has no method {body.Method}.");
        return method.CreateDelegate<Func<Task>>(method.IsStatic ? null : target);
    }

    private Type Type(Type type)
    {
        if (type.IsConstructedGenericType || type.ContainsGenericParameters)
        {
            throw new NotSupportedException($"The body is in the generic {type}. Write it in a class and a method that are not generic.");
        }

        return context.LoadFromAssemblyName(type.Assembly.GetName()).GetType(type.FullName!, throwOnError: true)!;
    }

    /// <summary>A race that is meant is one of a field or property of the code under test: another name is a mistake, or that of what was renamed.</summary>
    private static void Require(IReadOnlyCollection<string> meantRaces, IEnumerable<string> paths)
    {
        if (meantRaces.Count == 0)
        {
            return;
        }

        HashSet<string> names = [];
        foreach (string path in paths)
        {
            using ModuleDefinition module = ModuleDefinition.ReadModule(path);
            names.UnionWith(module.GetTypes().SelectMany(static t => t.Fields).Select(RaceRewriter.Named));
        }

        if (meantRaces.FirstOrDefault(m => !names.Contains(m)) is { } unknown)
        {
            string type = unknown.Split('.')[0] + ".";
            string[] near = [.. names.Where(n => n.StartsWith(type, StringComparison.Ordinal)).Order(StringComparer.Ordinal)];
            throw new ArgumentException(
                $"MeantRaces has '{unknown}', which is no field or property of the code under test. It has to be Type.Member, without namespace and generic " +
                $"parameters{(near.Length == 0 ? $"; there is no type {type.TrimEnd('.')} with fields." : $". The type has {string.Join(", ", near)}.")}",
                nameof(meantRaces));
        }
    }

    private static RewrittenProgram Load(Dictionary<string, string> originals, HashSet<string> all, string how, Action<string, string> rewrite)
    {
        string folder = Path.Combine(Path.GetTempPath(), "weir-explore-" + Environment.UserName);
        string rewriter = typeof(RewrittenProgram).Module.ModuleVersionId.ToString("N");
        Dictionary<string, string> copies = [];
        foreach ((string name, string path) in originals)
        {
            string copy = Path.Combine(folder, Hash(path, $"{rewriter}|{how}"), name + ".dll");
            if (!File.Exists(copy))
            {
                Write(path, copy, rewrite);
            }

            copies.Add(name, copy);
        }

        // Before the first schedule: the compiler loads them at some moment, and code may ask which are there.
        Context context = new(copies);
        string there = AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES") as string ?? "";
        all.Where(n => copies.ContainsKey(n) || there.Contains($"{Path.DirectorySeparatorChar}{n}.dll", StringComparison.Ordinal))
            .ToList().ForEach(n => context.LoadFromAssemblyName(new AssemblyName(n)));
        return new RewrittenProgram(context);
    }

    private static void Collect(string path, Dictionary<string, string> found, HashSet<string> all)
    {
        found[Path.GetFileNameWithoutExtension(path)] = path;
        using ModuleDefinition module = ModuleDefinition.ReadModule(path);
        foreach (AssemblyNameReference reference in module.AssemblyReferences)
        {
            // Of the platform's assemblies, the one beside the test comes first: it may be of another version.
            string file = Path.Combine(Path.GetDirectoryName(path)!, reference.Name + ".dll");
            file = File.Exists(file) ? file : Path.Combine(Path.GetDirectoryName(typeof(object).Assembly.Location)!, reference.Name + ".dll");
            if (File.Exists(file) && all.Add(reference.Name) && !Platform.IsLeftAlone(reference.Name))
            {
                Collect(file, found, all);
            }
        }
    }

    private static string Hash(string path, string how) =>
        Convert.ToHexString(SHA256.HashData([.. File.ReadAllBytes(path), .. Encoding.UTF8.GetBytes(how)]))[..24];

    private static void Write(string path, string copy, Action<string, string> rewrite)
    {
        // Into a folder of its own first: several test programs may write the same copy at once.
        string folder = Path.GetDirectoryName(copy)!;
        string mine = folder + "-" + Guid.NewGuid().ToString("N");
        Directory.CreateDirectory(mine);
        rewrite(path, Path.Combine(mine, Path.GetFileName(copy)));
        try
        {
            Directory.Move(mine, folder);
        }
        catch (IOException) when (File.Exists(copy))
        {
            Directory.Delete(mine, recursive: true);
        }
    }

    /// <summary>Where the rewritten copies are loaded. All else is what the process has.</summary>
    private sealed class Context(Dictionary<string, string> copies) : AssemblyLoadContext("Weir.Explore")
    {
        protected override Assembly? Load(AssemblyName assemblyName) =>
            copies.TryGetValue(assemblyName.Name!, out string? path) ? LoadFromAssemblyPath(path) : null;
    }
}

/// <summary>Copies what a lambda has captured to the rewritten program: values of the base library, and closures inside closures.</summary>
internal sealed class ClosureCopy(Func<Type, Type> rewritten)
{
    private const BindingFlags Fields = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    public object Of(object closure)
    {
        Type type = closure.GetType();
        if (!type.IsDefined(typeof(CompilerGeneratedAttribute)))
        {
            throw new NotSupportedException($"The body uses an instance of {type}. Let it capture values alone, and make what it needs inside.");
        }

        Type target = rewritten(type);
        object copy = RuntimeHelpers.GetUninitializedObject(target);
        foreach (FieldInfo field in type.GetFields(Fields))
        {
            if (field.GetValue(closure) is { } value)
            {
                target.GetField(field.Name, Fields)!.SetValue(copy, Value(field, value));
            }
        }

        return copy;
    }

    private object? Value(FieldInfo field, object value)
    {
        Type type = value.GetType();
        if (type.IsDefined(typeof(CompilerGeneratedAttribute)))
        {
            return Of(value);
        }

        if (type.IsEnum && type.Assembly != typeof(object).Assembly)
        {
            return Enum.ToObject(rewritten(type), value);
        }

        // Known only here: an assembly that is loaded once for both.
        return type.Assembly == typeof(object).Assembly && !typeof(Delegate).IsAssignableFrom(type) && !type.IsGenericType
            ? value
            : throw new NotSupportedException(
                $"The body captures '{field.Name}', a {type}. Let it capture values of the base library alone, and make others inside.");
    }
}
