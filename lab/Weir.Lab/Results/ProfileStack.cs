namespace Weir.Lab.Results;

/// <summary>A stack of calls that was found in samples.</summary>
/// <param name="Frames">The methods from the outermost to the innermost, between semicolons, as the programs that draw flame graphs read them.</param>
/// <param name="Samples">In how many samples.</param>
public sealed record ProfileStack(string Frames, int Samples)
{
    /// <summary>What stands between two frames.</summary>
    public const char Separator = ';';

    /// <summary>The methods from the outermost to the innermost.</summary>
    [JsonIgnore]
    public IReadOnlyList<string> Path => Frames.Split(Separator);
}
