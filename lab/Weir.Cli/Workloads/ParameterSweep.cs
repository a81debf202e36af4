namespace Weir.Cli.Workloads;

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
