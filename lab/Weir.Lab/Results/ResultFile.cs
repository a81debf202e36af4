namespace Weir.Lab.Results;

/// <summary>The result of a command, as stored in a file. It is enough to print every table and plot again, to compare, and to repeat the run.</summary>
public sealed record ResultFile
{
    /// <summary>The version of the format that this program writes. It also reads all earlier versions.</summary>
    public const int CurrentVersion = 2;

    /// <summary>What kind of file this is; always <c>weir-result</c>.</summary>
    public string Format { get; init; } = "weir-result";

    /// <summary>The version of the format.</summary>
    public int Version { get; init; } = CurrentVersion;

    /// <summary>The command, such as <c>hash</c>.</summary>
    public required string Command { get; init; }

    /// <summary>The arguments that repeat the run.</summary>
    public required IReadOnlyList<string> Arguments { get; init; }

    /// <summary>What is measured, in words.</summary>
    public required string Work { get; init; }

    /// <summary>What a rate counts, in the plural, such as <c>tasks</c>.</summary>
    public required string Unit { get; init; }

    /// <summary>When it started.</summary>
    public required DateTimeOffset StartedAt { get; init; }

    /// <summary>How long the command took, in seconds.</summary>
    public double Seconds { get; init; }

    /// <summary>Whether it was stopped before everything was measured.</summary>
    public bool Partial { get; init; }

    /// <summary>Where it was measured.</summary>
    public required MachineRecord Machine { get; init; }

    /// <summary>The sources that were measured; <see langword="null"/> outside a git repository.</summary>
    public SourceRecord? Source { get; init; }

    /// <summary>The settings that all arms share, by name.</summary>
    public IReadOnlyDictionary<string, string> Settings { get; init; } = new Dictionary<string, string>();

    /// <summary>The measured arms.</summary>
    public IReadOnlyList<ArmRecord> Arms { get; init; } = [];

    /// <summary>A summary of the rounds of each measured arm. It is written for other programs and never read, because it follows from the rounds.</summary>
    public IReadOnlyList<ArmSummary> Summary => [.. Arms.Where(static a => a.IsMeasured).Select(a => ArmSummary.Of(a, Arms, Machine.ClockNs))];

    /// <summary>Arms compared with each other.</summary>
    public IReadOnlyList<ComparisonRecord> Comparisons { get; init; } = [];

    /// <summary>Scaling laws fitted to arms of one name.</summary>
    public IReadOnlyList<FitRecord> Fits { get; init; } = [];

    /// <summary>What you should know before you trust the figures.</summary>
    public IReadOnlyList<Finding> Findings { get; init; } = [];

    /// <summary>A result of what was measured here: on this machine, of the sources that are here.</summary>
    internal static ResultFile Here(string command, IReadOnlyList<string> arguments, string work, string unit, DateTimeOffset startedAt) => new()
    {
        Command = command,
        Arguments = arguments,
        Work = work,
        Unit = unit,
        StartedAt = startedAt,
        Machine = MachineRecord.Read(),
        Source = SourceRecord.Read(),
    };

    /// <summary>The same with profiles of its arms.</summary>
    /// <param name="profiles">Profiles by the number of the arm, from 0.</param>
    internal ResultFile With(IReadOnlyDictionary<int, ProfileRecord> profiles) =>
        profiles.Count == 0 ? this : this with { Arms = [.. Arms.Select((a, i) => a with { Profile = profiles.GetValueOrDefault(i) })] };

    /// <summary>The names of the arms, each once, in their order.</summary>
    public IEnumerable<string> Names() => Arms.Select(static a => a.Name).Distinct();

    /// <summary>Whether there is a finding of this level or worse.</summary>
    public bool Has(FindingLevel level) => Findings.Any(f => f.Level >= level);

    /// <summary>Whether a finding says that other programs had a part of the machine.</summary>
    internal bool IsOfAnUnquietMachine => Findings.Any(static f => f.IsOfAnUnquietMachine);
}
