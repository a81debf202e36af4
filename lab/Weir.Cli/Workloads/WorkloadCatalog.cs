using System.Runtime;
using System.Text.Json.Serialization;

namespace Weir.Cli.Workloads;

/// <summary>The built-in workloads by their names on the command line, and those of users.</summary>
internal static class WorkloadCatalog
{
    public const int MostWorkers = 4096;

    private static readonly (TimeSpan Least, TimeSpan Most) Grains = (TimeSpan.FromMicroseconds(1), TimeSpan.FromSeconds(10));

    /// <summary>The names, for help and messages.</summary>
    public static string Names => BuiltIns.Names;

    /// <summary>Name and meaning of each.</summary>
    public static IEnumerable<(string Name, string Text)> Texts => BuiltIns.All.Select(static w => (w.Name, w.Text));

    public static void Check(string name)
    {
        if (BuiltIns.Find(name) is null)
        {
            throw new BadInputException($"WORKLOAD must be {Names}, or a method with --assembly and --method; it is '{name}'.");
        }
    }

    /// <summary>The built-in workload of a specification.</summary>
    public static BuiltIn Of(WorkloadSpec spec) => BuiltIns.Find(spec.Name)!;

    /// <summary>Reads a grain for a workload that has one.</summary>
    /// <exception cref="BadInputException">The workload has none, or the value cannot be used.</exception>
    public static TimeSpan Grain(string name, OptionValue given) => BuiltIns.Find(name)!.Grain is null
        ? throw new BadInputException(
            $"{given.Source} needs the workload {BuiltIns.NamesOf(BuiltIns.All.Where(static w => w.Grain is not null))}; {name} has no grain.")
        : given.Time(Grains.Least, Grains.Most, "10us");

    /// <summary>Reads a parameter.</summary>
    public static int Number(BuiltInParameter parameter, OptionValue given) =>
        parameter.IsBytes ? (int)given.Bytes(parameter.Least, parameter.Most) : given.WholeNumber(parameter.Least, parameter.Most);

    /// <summary>The grain that a workload has when none is given; <see langword="null"/> for those without one.</summary>
    public static TimeSpan? OwnGrain(WorkloadSpec spec) => spec.Assembly is null ? Of(spec).Grain?.Usual : null;

    /// <summary>What an operation does, with all parameters except those that the run varies.</summary>
    public static string Text(WorkloadSpec spec)
    {
        IEnumerable<string> set = spec.Values.Where(p => !spec.Varied.ContainsKey(p.Key)).Select(static p => $"{p.Key}={p.Value}");
        string text;
        if (spec.Assembly is not null)
        {
            text = $"{string.Join(", ", spec.Methods)} of {Path.GetFileName(spec.Assembly)}";
        }
        else
        {
            BuiltIn own = Of(spec);
            text = $"{own.Name}: {own.Text}";
            set = own.Grain is { } grain && !spec.Varied.ContainsKey("grain") ? [Numbers.Time(spec.Grain ?? grain.Usual), .. set] : set;
        }

        return set.Any() ? $"{text} ({string.Join(", ", set)})" : text;
    }

    /// <summary>The values that all processes of the workload share.</summary>
    public static WorkloadSpec Calibrated(WorkloadSpec spec, Lazy<double> stepsPerSecond) =>
        spec.Assembly is null && Of(spec).Computes ? spec with { StepsPerSecond = stepsPerSecond.Value } : spec;

    /// <summary>Makes the workload.</summary>
    /// <exception cref="BadInputException">The assembly or its code cannot be used.</exception>
    public static IWorkload Create(WorkloadSpec spec) => spec.Assembly is null
        ? Of(spec).Create(new BuiltInValues(spec.Grain ?? OwnGrain(spec) ?? TimeSpan.Zero, NumberOf(spec), spec.StepsPerSecond))
        : Create(spec, UserAssembly.Load(spec.Assembly));

    /// <summary>Makes the workload of an assembly that is loaded already.</summary>
    public static IWorkload Create(WorkloadSpec spec, UserAssembly assembly) => UserWorkloads.Create(spec.Name, assembly, spec.Methods, spec.Values);

    private static int NumberOf(WorkloadSpec spec) => Of(spec).Parameter is not { } parameter ? 0
        : spec.Values.TryGetValue(parameter.Name, out string? text) ? int.Parse(text, CultureInfo.InvariantCulture) : parameter.Usual;
}

/// <summary>A workload and its parameters, as typed on the command line and as sent to a measuring process.</summary>
internal sealed record WorkloadSpec
{
    /// <summary>The name of a built-in workload, or a short one of a user's code.</summary>
    public required string Name { get; init; }

    /// <summary>How much work an operation has; <see langword="null"/> for the workload's own size.</summary>
    public TimeSpan? Grain { get; init; }

    /// <summary>How fast the machine computes, measured once for all processes: otherwise, each process would do different work.</summary>
    public double? StepsPerSecond { get; init; }

    /// <summary>The user's assembly; <see langword="null"/> for a built-in workload.</summary>
    public string? Assembly { get; init; }

    /// <summary>The methods, or the class, by their names; several methods for several groups of workers.</summary>
    public IReadOnlyList<string> Methods { get; init; } = [];

    /// <summary>The parameters besides the grain, by name.</summary>
    public IReadOnlyDictionary<string, string> Values { get; init; } = new Dictionary<string, string>();

    /// <summary>The parameters that this run varies, with the values as they were given; they are part of its name in reports.</summary>
    public IReadOnlyDictionary<string, string> Varied { get; init; } = new Dictionary<string, string>();

    /// <summary>The workers that the specification asks for itself; <see langword="null"/> for those of the command.</summary>
    public int? Workers { get; init; }

    /// <summary>The garbage collector of the process, <c>wks</c> or <c>svr</c>; <see langword="null"/> for that of the program.</summary>
    public string? Collector { get; init; }

    /// <summary>The name in reports.</summary>
    [JsonIgnore]
    public string Label => Named(Name);

    /// <summary>The part that two comparable workloads share.</summary>
    public IReadOnlyDictionary<string, string> Parameters()
    {
        Dictionary<string, string> parameters = new(Values);
        if ((Grain ?? WorkloadCatalog.OwnGrain(this)) is { } grain)
        {
            parameters["grain"] = Numbers.Time(grain);
        }

        if (Collector is { } collector)
        {
            parameters["gc"] = collector;
        }

        return parameters;
    }

    /// <summary>This workload with a parameter set.</summary>
    /// <exception cref="BadInputException">A built-in workload has no such parameter, or the value cannot be used.</exception>
    public WorkloadSpec With(string name, OptionValue value)
    {
        // Only the assembly knows the parameters of a user's code.
        if (Assembly is not null)
        {
            return this with { Values = new Dictionary<string, string>(Values) { [name] = value.Text } };
        }

        BuiltIn own = WorkloadCatalog.Of(this);
        return name.ToLowerInvariant() switch
        {
            "grain" => this with { Grain = Grain is null ? WorkloadCatalog.Grain(Name, value) : throw Twice(name) },
            "gc" => this with { Collector = Collector is null ? CollectorMode.Read(value) : throw Twice(name) },
            var other when other == own.Parameter?.Name && Values.ContainsKey(other) => throw Twice(name),
            var other when other == own.Parameter?.Name => this with { Values =
                new Dictionary<string, string>(Values) { [other] = WorkloadCatalog.Number(own.Parameter, value).ToString(CultureInfo.InvariantCulture) } },
            _ => throw new BadInputException(
                $"{value.Source}: {Name} has no such parameter; the nearest "
                    + (NearestNames.Of(name, own.Parameters) is [var only] ? $"is {only}" : $"are {string.Join(", ", NearestNames.Of(name, own.Parameters))}")
                    + "."),
        };
    }

    /// <summary>Reads <c>NAME[:key=value,...]</c>.</summary>
    public static WorkloadSpec Parse(string text)
    {
        string[] parts = text.Split(':', 2);
        WorkloadCatalog.Check(parts[0]);
        WorkloadSpec spec = new() { Name = parts[0].ToLowerInvariant() };
        foreach (string pair in parts.Length > 1 ? parts[1].Split(',') : [])
        {
            string[] sides = pair.Split('=', 2);
            OptionValue value = new($"{sides[0]} of '{text}'", sides.Length > 1 ? sides[1] : "");
            spec = sides[0] == "workers" ? spec with { Workers = value.WholeNumber(1, WorkloadCatalog.MostWorkers) }
                : sides[0] is "grain" or "gc" || sides[0] == WorkloadCatalog.Of(spec).Parameter?.Name ? spec.With(sides[0], value)
                : throw new BadInputException($"A workload is NAME or NAME:grain=TIME,workers=N,gc=wks; '{text}' has '{pair}'.");
        }

        return spec;
    }

    /// <summary>A name together with the parameters that are varied.</summary>
    public string Named(string name) => string.Join(' ', [name, .. Varied.Select(static p => $"{p.Key}={p.Value}")]);

    private BadInputException Twice(string name) => new($"The parameter '{name}' of {Name} is given twice.");
}

/// <summary>The garbage collector of a measuring process. It is chosen when a process starts, so it needs a separate process.</summary>
internal static class CollectorMode
{
    private const string Workstation = "wks";
    private const string Server = "svr";

    private static readonly Dictionary<string, string> Words = new(StringComparer.OrdinalIgnoreCase) { [Workstation] = Workstation, [Server] = Server };

    public static string Read(OptionValue given) => given.OneOf(Words);

    /// <summary>
    /// The variables that select the collector of a process, and those that make it warm up sooner. The server's number of heaps is fixed, because it would
    /// otherwise follow the load, and with it the figures.
    /// </summary>
    /// <param name="mode">The collector; <see langword="null"/> for that of this process.</param>
    public static IReadOnlyDictionary<string, string> Variables(string? mode) => new Dictionary<string, string>(WorkerRunner.ProcessVariables.Concat(mode switch
    {
        null => [],
        Server => [new("DOTNET_gcServer", "1"), new("DOTNET_GCDynamicAdaptationMode", "0")],
        _ => [new("DOTNET_gcServer", "0")],
    }));

    /// <summary>Throws when this process has another collector than it was started for.</summary>
    /// <exception cref="BadInputException">It has another, as on a machine with one processor, where there is no server's.</exception>
    public static void Verify(string? mode)
    {
        if (mode is not null && GCSettings.IsServerGC != (mode == Server))
        {
            throw new BadInputException(
                $"The collector '{mode}' is not available here; the process has the {(GCSettings.IsServerGC ? "server's" : "workstation's")}.");
        }
    }
}

/// <summary>The values that <c>--param</c> gives to parameters, and every combination of them.</summary>
internal sealed class ParameterSweep
{
    /// <summary>How many combinations are measured at most.</summary>
    public const int MostCombinations = 32;

    private readonly List<(string Name, string[] Values)> _parameters = [];

    /// <summary>Reads the options, each <c>name=value,value</c>.</summary>
    /// <exception cref="BadInputException">One is not of this form, one is there twice, or there are too many combinations.</exception>
    public ParameterSweep(IEnumerable<string> options)
    {
        foreach (OptionValue option in options.Select(static o => new OptionValue("--param", o)))
        {
            string[] sides = option.Text.Split('=', 2, StringSplitOptions.TrimEntries);
            string[] values = sides.Length == 2 ? sides[1].Split(',', StringSplitOptions.TrimEntries) : [];
            if (sides[0].Length == 0 || values.Length == 0 || values.Distinct().Count() != values.Length)
            {
                throw option.Bad("name=value, or name=value,value with different values, such as size=1,10,100");
            }

            if (_parameters.Any(p => p.Name.Equals(sides[0], StringComparison.OrdinalIgnoreCase)))
            {
                throw new BadInputException($"--param gives '{sides[0]}' twice; put its values into one, as {sides[0]}=1,10,100.");
            }

            _parameters.Add((sides[0], values));
        }

        long all = _parameters.Aggregate(1L, static (n, p) => Math.Min(int.MaxValue, n * p.Values.Length));
        if (all > MostCombinations)
        {
            throw new BadInputException($"--param gives {Lab.Formatting.Numbers.Grouped(all)} combinations "
                + $"({string.Join(" x ", _parameters.Select(static p => p.Values.Length))}); {MostCombinations} are measured at most.");
        }
    }

    public IEnumerable<string> Names => _parameters.Select(static p => p.Name);

    /// <summary>The names of the parameters that have several values.</summary>
    public IReadOnlyList<string> Varied => [.. _parameters.Where(static p => p.Values.Length > 1).Select(static p => p.Name)];

    /// <summary>The combinations, the last parameter changing fastest; a single empty one when no parameter is given.</summary>
    public IReadOnlyList<IReadOnlyList<KeyValuePair<string, string>>> Combinations() => _parameters.Aggregate(
        (IReadOnlyList<IReadOnlyList<KeyValuePair<string, string>>>)[[]],
        static (all, parameter) => [.. all.SelectMany(
            _ => parameter.Values, (before, value) => (IReadOnlyList<KeyValuePair<string, string>>)[.. before, new(parameter.Name, value)])]);

    /// <summary>A workload with every combination.</summary>
    public IReadOnlyList<WorkloadSpec> Of(WorkloadSpec workload) =>
    [
        .. Combinations().Select(
            combination => combination.Aggregate(workload, static (spec, p) => spec.With(p.Key, new OptionValue($"--param {p.Key}", p.Value))) with
        {
            Varied = new Dictionary<string, string>(combination.Where(p => Varied.Contains(p.Key))),
        }),
    ];
}
