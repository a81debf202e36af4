namespace Weir.Cli.Programs;

/// <summary>A program that is measured.</summary>
internal sealed record ProgramSpec
{
    /// <summary>The name in reports.</summary>
    public required string Name { get; init; }

    /// <summary>The command as it was given, with the values of its parameters in their places.</summary>
    public required string Text { get; init; }

    /// <summary>The program, and its arguments.</summary>
    public required IReadOnlyList<string> Words { get; init; }

    /// <summary>What is run before each run of it; <see langword="null"/> for nothing.</summary>
    public string? Prepare { get; init; }

    /// <summary>The parameters that are varied, and their values here.</summary>
    public IReadOnlyDictionary<string, string> Varied { get; init; } = new Dictionary<string, string>();
}
