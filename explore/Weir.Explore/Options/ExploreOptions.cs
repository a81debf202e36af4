namespace Weir.Explore;

/// <summary>How far <see cref="Explore.Run(Func{Task}, ExploreOptions?)"/> searches.</summary>
public sealed record ExploreOptions
{
    /// <summary>In which order schedules are tried.</summary>
    public ExploreStrategy Strategy { get; init; }

    /// <summary>
    /// How often, at most, a thread that could continue is interrupted in one schedule; null for no bound. For <see cref="ExploreStrategy.Bounded"/>. Most races
    /// need one or two. Switching because a thread waits or ends is always free.
    /// </summary>
    public int? MaxPreemptions { get; init; } = 2;

    /// <summary>How many schedules are tried at most. At least 1.</summary>
    public long MaxSchedules { get; init; } = 100_000;

    /// <summary>How long the search takes at most; no limit by default. It ends between two schedules.</summary>
    public TimeSpan MaxTime { get; init; } = Timeout.InfiniteTimeSpan;

    /// <summary>How many steps a schedule may have. One that has more has no end, and fails. At least 1.</summary>
    public int MaxSteps { get; init; } = 20_000;

    /// <summary>The depth of <see cref="ExploreStrategy.Pct"/>: how many orders between points a fault needs. At least 1.</summary>
    public int Depth { get; init; } = 3;

    /// <summary>What the random strategies begin with. The same seed gives the same schedules.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>How long, in real time, a thread may go without coming to a point. More than zero.</summary>
    public TimeSpan Patience { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>
    /// Whether time may move to the next timer at any point, as if each thread could be held up for long. Otherwise it moves when nobody can run. An
    /// assertion about time itself then has to allow for that.
    /// </summary>
    public bool TimersFireAnyTime { get; init; }

    /// <summary>Whether a schedule fails when a task of an async method or of <c>Task.Run</c> failed and nobody looked at its exception.</summary>
    public bool UnobservedExceptionsFail { get; init; } = true;

    /// <summary>Classes whose plain fields are points too. Fields that are declared <c>volatile</c> always are.</summary>
    public IReadOnlyCollection<Type> PointsAtFieldsOf { get; init; } = [];

    /// <summary>
    /// Whether what a thread stores with <c>Volatile.Write</c>, in a <c>volatile</c> field or in those of <see cref="PointsAtFieldsOf"/> may be seen later by
    /// the others, after what the thread does next: up to its own next atomic operation, lock or call of the platform, as with the store buffers of x86 (TSO).
    /// For protocols that need a fence between a store and a load.
    /// </summary>
    public bool StoreBuffers { get; init; }

    /// <summary>
    /// Whether a schedule fails when two threads access a field that is not <c>volatile</c>, or an element of an array, one of them writes, and nothing that
    /// the program does puts the two in order. For all fields of the code under test; these are no points for that. Accesses by <c>Interlocked</c> and
    /// <c>Volatile</c> are none of these.
    /// </summary>
    public bool DataRaces { get; init; }

    /// <summary>
    /// Fields and properties that <see cref="DataRaces"/> leaves out, as <c>Type.Member</c> without namespace and generic parameters: those whose races are
    /// meant, such as of a value that is computed again if it is not there yet.
    /// </summary>
    public IReadOnlyCollection<string> MeantRaces { get; init; } = [];

    /// <summary>
    /// Whether a schedule is left when it comes to a state that another one has come to before, so that what follows has been searched, or will be. For
    /// <see cref="ExploreStrategy.Bounded"/>; with <see cref="StoreBuffers"/> or <see cref="DataRaces"/>, none is left.
    /// </summary>
    public bool Reduction { get; init; }

    internal bool IsReduced => Reduction && Strategy == ExploreStrategy.Bounded && !StoreBuffers && !DataRaces;

    internal void Check()
    {
        Refuse(MaxPreemptions < 0, nameof(MaxPreemptions), "null or at least 0");
        Refuse(MaxSchedules < 1, nameof(MaxSchedules), "at least 1");
        Refuse(MaxTime <= TimeSpan.Zero && MaxTime != Timeout.InfiniteTimeSpan, nameof(MaxTime), "infinite or more than zero");
        Refuse(MaxSteps < 1, nameof(MaxSteps), "at least 1");
        Refuse(Depth < 1, nameof(Depth), "at least 1");
        Refuse(Patience <= TimeSpan.Zero, nameof(Patience), "more than zero");
        Refuse(!Enum.IsDefined(Strategy), nameof(Strategy), "Bounded, Pct or Random");
    }

    private static void Refuse(bool isBad, string name, string allowed)
    {
        if (isBad)
        {
            throw new ArgumentOutOfRangeException(name, $"{name} has to be {allowed}.");
        }
    }
}

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
