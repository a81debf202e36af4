namespace Weir.Cli.Measuring;

/// <summary>What is measured of a program by default.</summary>
internal static class ProgramDefaults
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
}
