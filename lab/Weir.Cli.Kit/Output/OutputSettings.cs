namespace Weir.Cli.Kit.Output;

/// <summary>The output settings of a result.</summary>
/// <param name="Json">Whether the output is JSON and nothing else.</param>
/// <param name="Exports">The forms that are written to files.</param>
/// <param name="Directory">Where the files go.</param>
/// <param name="Quiet">Whether progress is left out.</param>
/// <param name="Strict">Whether an inconclusive result is a failure.</param>
internal sealed record OutputSettings(bool Json, IReadOnlyList<string> Exports, string Directory, bool Quiet, bool Strict)
{
    /// <summary>The conditions under which the command fails.</summary>
    public IReadOnlyList<Threshold> Thresholds { get; init; } = [];
}
