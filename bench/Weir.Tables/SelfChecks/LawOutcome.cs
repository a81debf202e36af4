namespace Weir.Tables.SelfChecks;

/// <summary>What the fits of simulated series of one law came to.</summary>
/// <param name="Law">The law that is true.</param>
/// <param name="Noise">Whose noise the rates have.</param>
/// <param name="Counts">How many worker counts a series has.</param>
/// <param name="HasPeak">Whether the law has its peak among them.</param>
/// <param name="Parameters">How many of lambda, sigma and kappa the law has.</param>
/// <param name="Series">How many series.</param>
internal sealed record LawOutcome(string Law, string Noise, int Counts, bool HasPeak, int Parameters, int Series)
{
    /// <summary>In how many the true law is named.</summary>
    public int Right { get; init; }

    /// <summary>In how many no law is named.</summary>
    public int Refused { get; init; }

    /// <summary>In how many a peak is given.</summary>
    public int Peaks { get; init; }

    /// <summary>Where the true law is named: how many intervals of lambda hold the truth.</summary>
    public int Lambda { get; init; }

    /// <summary>How many intervals of sigma hold the truth.</summary>
    public int Sigma { get; init; }

    /// <summary>How many intervals of kappa hold the truth.</summary>
    public int Kappa { get; init; }
}
