namespace Weir.Cli.Commands.Doctor;

/// <summary>One check of the machine.</summary>
/// <param name="Name">What.</param>
/// <param name="Value">What was found.</param>
/// <param name="Level">Whether it is fine.</param>
/// <param name="Advice">Advice, if it is not fine.</param>
internal sealed record Check(string Name, string Value, FindingLevel Level, string? Advice = null);
