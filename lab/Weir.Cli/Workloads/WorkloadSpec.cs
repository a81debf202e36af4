using System.Text.Json.Serialization;

namespace Weir.Cli.Workloads;

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

    /// <summary>The same with a parameter set.</summary>
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
