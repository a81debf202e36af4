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

    /// <summary>The same of an assembly that is loaded already.</summary>
    public static IWorkload Create(WorkloadSpec spec, UserAssembly assembly) => UserWorkloads.Create(spec.Name, assembly, spec.Methods, spec.Values);

    private static int NumberOf(WorkloadSpec spec) => Of(spec).Parameter is not { } parameter ? 0
        : spec.Values.TryGetValue(parameter.Name, out string? text) ? int.Parse(text, CultureInfo.InvariantCulture) : parameter.Usual;
}
