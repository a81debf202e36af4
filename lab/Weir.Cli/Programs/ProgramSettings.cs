namespace Weir.Cli.Programs;

/// <summary>All settings of the measuring of programs, checked.</summary>
internal sealed record ProgramSettings
{
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
