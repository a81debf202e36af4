namespace Weir.Tables.SelfChecks;

/// <summary>The outcome of one <c>weir compare</c>, from its result file.</summary>
/// <param name="Comparison">The comparison; <see langword="null"/> when nothing could be compared.</param>
/// <param name="Seconds">How long the command took.</param>
/// <param name="StartedAt">When it began.</param>
internal sealed record KeptVerdict(ComparisonRecord? Comparison, double Seconds, DateTimeOffset StartedAt)
{
    /// <summary>Reads the result in a folder.</summary>
    /// <param name="folder">The folder that the command was told to write to.</param>
    /// <param name="arguments">The arguments that the result must be of.</param>
    /// <returns>The result; <see langword="null"/> when there is none, or that of another command.</returns>
    /// <exception cref="ResultFileException">The file is not a result.</exception>
    public static KeptVerdict? Read(DirectoryInfo folder, IReadOnlyCollection<string> arguments)
    {
        string path = Path.Combine(folder.FullName, "weir-compare.json");
        if (!File.Exists(path))
        {
            return null;
        }

        ResultFile result = ResultJson.Read(path);
        return result.Arguments.Take(arguments.Count).SequenceEqual(arguments)
            ? new KeptVerdict(result.Comparisons is [var comparison, ..] ? comparison : null, result.Seconds, result.StartedAt)
            : null;
    }
}
