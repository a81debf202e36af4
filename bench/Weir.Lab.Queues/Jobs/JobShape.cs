namespace Weir.Lab.Queues.Jobs;

/// <summary>How many items a job has, and how it works them off.</summary>
/// <param name="Name">What the page calls it.</param>
/// <param name="ItemsOfAJob">How many items a job has; null for all of them.</param>
/// <param name="Runtime">On which of Weir's runtimes a job runs its items; null for a loop that waits for one after the other.</param>
/// <param name="Resumes">Whether a job notes what is done, so that it goes on there when it is run again.</param>
internal sealed record JobShape(string Name, int? ItemsOfAJob = null, string? Runtime = null, bool Resumes = false)
{
    /// <summary>How many jobs a worker runs at a time, and how many items a runtime has in flight.</summary>
    public const int AtOnce = 20;

    public const string Direct = "direct";
    public const string Concurrent = "concurrent";
    public const string Parallel = "parallel";
    public const string Auto = "auto";

    /// <summary>A job for each item.</summary>
    public static JobShape Single { get; } = new("1", 1);

    /// <summary>Jobs of 500 items.</summary>
    public static JobShape Batch { get; } = new("500", 500);

    /// <summary>Those whose speed is measured, in the order of the page.</summary>
    public static IReadOnlyList<JobShape> Measured { get; } =
        [Single, Batch, All(Direct), All(Concurrent), All(Parallel), All(Auto), All(Concurrent, resumes: true)];

    /// <summary>Those whose worker is killed.</summary>
    public static IReadOnlyList<JobShape> Killed { get; } =
    [
        Single, Batch, All(Concurrent), All(Direct, resumes: true), All(Concurrent, resumes: true), All(Parallel, resumes: true), All(Auto, resumes: true),
    ];

    /// <summary>How many messages a worker has that it did not acknowledge: of large jobs no more than it runs, or some of its listeners would wait for others.</summary>
    public ushort Ahead => ItemsOfAJob == 1 ? (ushort)200 : (ushort)AtOnce;

    /// <summary>How many jobs some items are.</summary>
    public int JobsOf(int items) => ItemsOfAJob is { } each ? (items + each - 1) / each : 1;

    /// <summary>The one of a name; null if there is none.</summary>
    public static JobShape? Find(string name) => Measured.Concat(Killed).FirstOrDefault(shape => shape.Name == name);

    /// <summary>One job of all items.</summary>
    public static JobShape All(string runtime, bool resumes = false) => new($"all, {runtime}{(resumes ? ", resume" : "")}", null, runtime, resumes);
}
