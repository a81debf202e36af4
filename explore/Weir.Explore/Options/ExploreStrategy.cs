namespace Weir.Explore;

/// <summary>In which order schedules are tried.</summary>
public enum ExploreStrategy
{
    /// <summary>All schedules, those with the fewest preemptions first, up to <see cref="ExploreOptions.MaxPreemptions"/>.</summary>
    Bounded,

    /// <summary>Probabilistic concurrency testing, with <see cref="ExploreOptions.Depth"/>: for programs that have too many schedules.</summary>
    Pct,

    /// <summary>At each point, each thread that can run is as likely as the others.</summary>
    Random,
}
