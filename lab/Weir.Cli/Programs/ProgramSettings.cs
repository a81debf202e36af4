namespace Weir.Cli.Programs;

/// <summary>What a command does with programs.</summary>
internal enum ProgramUse
{
    /// <summary>It measures them, and nothing else.</summary>
    Only,

    /// <summary>It measures workloads, or programs in their place.</summary>
    Also,
}

/// <summary>All settings of the measuring of programs, checked.</summary>
internal sealed record ProgramSettings
{
    /// <summary>The default minimum number of rounds of a program.</summary>
    public const int LeastRounds = 10;

    /// <summary>The default maximum number of rounds of a program.</summary>
    public const int MostRounds = 1000;

    /// <summary>The default minimum time of all rounds of a program together.</summary>
    public static readonly TimeSpan LeastTime = TimeSpan.FromSeconds(3);

    /// <summary>These defaults, as a text.</summary>
    public static readonly string UsualRounds = FormattableString.Invariant(
        $"{LeastRounds} at least, and as many as fit into {LeastTime.TotalSeconds:0} s, {MostRounds:N0} at most");

    /// <summary>How long the end of a run is waited for by default.</summary>
    public const string UsualTimeout = "10min";

    /// <summary>The programs in groups: those of one group are compared with its first.</summary>
    public required IReadOnlyList<IReadOnlyList<ProgramSpec>> Groups { get; init; }

    /// <summary>How many rounds each has; <see langword="null"/> for as many as its time asks for.</summary>
    public int? Rounds { get; init; }

    /// <summary>How often each is run before the rounds.</summary>
    public required int WarmUps { get; init; }

    /// <summary>How a command is given to the shell; <see langword="null"/> when the program is started without one.</summary>
    public IReadOnlyList<string>? Shell { get; init; }

    /// <summary>Whether any exit code counts as success.</summary>
    public bool IgnoresFailures { get; init; }

    /// <summary>Whether what the programs print is shown.</summary>
    public bool ShowsOutput { get; init; }

    /// <summary>How long the end of a run is waited for.</summary>
    public required TimeSpan Timeout { get; init; }

    /// <summary>The programs, one after the other.</summary>
    public IReadOnlyList<ProgramSpec> Programs => [.. Groups.SelectMany(static g => g)];
}
