using Weir.Cli.Formatting;
using Weir.Cli.Hosting;
using Weir.Cli.Options;

namespace Weir.Cli.Workloads;

/// <summary>Which workload, and what is set about it: as one types it, and as it goes to a measuring process.</summary>
internal sealed record WorkloadSpec
{
    /// <summary>The name of a built-in workload, or of methods of an assembly.</summary>
    public required string Name { get; init; }

    /// <summary>How much work an operation has; <see langword="null"/> for the workload's own size.</summary>
    public TimeSpan? Grain { get; init; }

    /// <summary>How fast the machine computes, measured once for all processes: each of them finding it for itself would do different work.</summary>
    public double? StepsPerSecond { get; init; }

    /// <summary>The assembly of the methods; <see langword="null"/> for a built-in workload.</summary>
    public string? Assembly { get; init; }

    /// <summary>The static methods, by their full names; several for several groups of workers.</summary>
    public IReadOnlyList<string> Methods { get; init; } = [];

    /// <summary>The workers that the specification asks for itself; <see langword="null"/> for those of the command.</summary>
    public int? Workers { get; init; }

    /// <summary>The garbage collector of the process, <c>wks</c> or <c>svr</c>; <see langword="null"/> for that of the program.</summary>
    public string? Collector { get; init; }

    /// <summary>What two things that may be compared share.</summary>
    public IReadOnlyDictionary<string, string> Parameters()
    {
        Dictionary<string, string> parameters = [];
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

    /// <summary>Reads <c>NAME[:key=value,...]</c>.</summary>
    /// <exception cref="BadInputException">It is no workload.</exception>
    public static WorkloadSpec Parse(string text)
    {
        string[] parts = text.Split(':', 2);
        WorkloadCatalog.Check(parts[0]);
        WorkloadSpec spec = new() { Name = parts[0].ToLowerInvariant() };
        foreach (string pair in parts.Length > 1 ? parts[1].Split(',') : [])
        {
            string[] sides = pair.Split('=', 2);
            OptionValue value = new($"{sides[0]} of '{text}'", sides.Length > 1 ? sides[1] : "");
            spec = sides[0] switch
            {
                "grain" => spec with { Grain = WorkloadCatalog.Grain(spec.Name, value) },
                "gc" => spec with { Collector = CollectorMode.Read(value) },
                "workers" => spec with { Workers = value.WholeNumber(1, WorkloadCatalog.MostWorkers) },
                _ => throw new BadInputException($"A workload is NAME or NAME:grain=TIME,workers=N,gc=wks; '{text}' has '{pair}'."),
            };
        }

        return spec;
    }
}
