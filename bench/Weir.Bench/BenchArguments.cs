namespace Weir.Bench;

/// <summary>The options that are called as those of <c>weir</c>, removed from BenchmarkDotNet's arguments or translated into them.</summary>
/// <param name="Remaining">What BenchmarkDotNet gets.</param>
/// <param name="Json">Whether the summaries are printed as JSON, and nothing else.</param>
/// <param name="Quiet">Whether only the summaries are printed.</param>
internal sealed record BenchArguments(IReadOnlyList<string> Remaining, bool Json, bool Quiet)
{
    private const string Export = "--export";
    private const string Exporters = "--exporters";
    private const string Out = "--out";
    private const string Artifacts = "--artifacts";
    private const string AllForms = "md, csv, json and html, separated by commas";

    private static readonly Dictionary<string, string> ExporterOf = new() { ["md"] = "github", ["csv"] = "csv", ["json"] = "json", ["html"] = "html" };

    /// <summary>The help on options that BenchmarkDotNet's own help does not have.</summary>
    public const string Help = """
        Of this program, besides BenchmarkDotNet's options above:

          --workers N,N,...       Run each benchmark with so many workers at once, in place of what [Workers] says
          --export FORM,...       Also write files: md, csv, json and html, separated by commas
          --out DIR               Where the files go. Default: BenchmarkDotNet.Artifacts
          --fail-if CONDITION     Exit code 2 if a benchmark meets it: mean, rate or bytes, as 'mean>50us' or 'bytes>1KB'
          --json                  Print the summaries as a list in BenchmarkDotNet's JSON, and nothing else
          --quiet                 Print the summaries and nothing else
        """;

    /// <summary>The conditions under which the program fails.</summary>
    public IReadOnlyList<Threshold> Thresholds { get; init; } = [];

    /// <summary>Where the files go; <see langword="null"/> for BenchmarkDotNet's own choice.</summary>
    public string? Directory => Remaining.SkipWhile(static a => a is not (Artifacts or "-a")).Skip(1).FirstOrDefault();

    /// <summary>Whether BenchmarkDotNet writes nothing to the console itself.</summary>
    public bool IsSilent => Json || Quiet;

    /// <exception cref="BadInputException">A value cannot be used, or both forms of an option were given.</exception>
    public static BenchArguments Parse(IReadOnlyList<string> arguments)
    {
        List<string> remaining = [];
        List<Threshold> thresholds = [];
        bool json = false;
        bool quiet = false;
        for (int i = 0; i < arguments.Count; i++)
        {
            switch (arguments[i])
            {
                case "--json":
                    json = true;
                    break;
                case "--quiet":
                    quiet = true;
                    break;
                case Threshold.Flag:
                    thresholds.Add(Threshold.Parse(Value(arguments, ++i, Threshold.Flag, "a condition such as 'mean>50us'").Text, Threshold.OfBenchmarks));
                    break;
                case Export:
                    remaining.Add(NotTwice(arguments, Export, Exporters, "-e"));
                    remaining.AddRange(Forms(Value(arguments, ++i, Export, AllForms)));
                    break;
                case Out:
                    remaining.Add(NotTwice(arguments, Out, Artifacts, "-a"));
                    remaining.Add(Value(arguments, ++i, Out, "a directory").Text);
                    break;
                default:
                    remaining.Add(arguments[i]);
                    break;
            }
        }

        return new BenchArguments(remaining, json, quiet) { Thresholds = thresholds };
    }

    // No .hgrm, unlike the other commands: a benchmark of BenchmarkDotNet alone has no latencies of single calls.
    private static IEnumerable<string> Forms(OptionValue given)
    {
        string[] forms = [.. given.Text.Split(',', StringSplitOptions.TrimEntries).Distinct()];
        return forms.All(ExporterOf.ContainsKey) ? forms.Select(static f => ExporterOf[f]) : throw given.Bad(AllForms);
    }

    private static OptionValue Value(IReadOnlyList<string> arguments, int index, string option, string allowed) =>
        index < arguments.Count && !arguments[index].StartsWith('-')
            ? new OptionValue(option, arguments[index])
            : throw new BadInputException($"{option} must be {allowed}; it is absent.");

    private static string NotTwice(IReadOnlyList<string> arguments, string own, string its, string itsShort) =>
        arguments.Contains(its) || arguments.Contains(itsShort) || arguments.Count(a => a == own) > 1
            ? throw new BadInputException($"{own} and {its} mean the same; give only one of them, once.")
            : its;
}
