using Weir.Lab.Queues.Jobs;

namespace Weir.Tables.Jobs;

/// <summary>A job system with a shape of its jobs, and how many items it is measured with.</summary>
/// <param name="Server">The server, as the program of the arms calls it.</param>
/// <param name="Library">The job system.</param>
/// <param name="Shape">How many items a job has, and how it works them off.</param>
internal sealed record JobArm(string Server, string Library, JobShape Shape)
{
    public const string Postgres = "postgres";

    /// <summary>A kill comes at half of it, when a checkpoint has been saved many times.</summary>
    public const int Long = 200_000;

    /// <summary>The items of the document.</summary>
    public const int Items = 50_000;

    private const string Rabbit = "rabbitmq";

    // A job for each item takes some milliseconds of a database, so these would last for minutes.
    private const int Fewer = 10_000;
    private const int FewerKilled = 4000;

    /// <summary>The job systems, in the order of the page.</summary>
    public static IReadOnlyList<(string Server, string Library)> Systems { get; } =
        [(Postgres, "Hangfire"), (Postgres, "Quartz"), (Rabbit, "MassTransit"), (Rabbit, "Wolverine")];

    /// <summary>What the program of the arms calls the job system.</summary>
    public string Name => $"{Server}/{Library}";

    /// <summary>The arms of a section, in the order of the page, with how many items each has.</summary>
    /// <param name="work">What is measured.</param>
    /// <param name="most">No arm gets more items.</param>
    public static IReadOnlyList<(JobArm Arm, int Items)> Of(string work, int most) =>
    [
        .. from system in Systems
           from shape in work == JobReading.Kill ? JobShape.Killed : JobShape.Measured
           let arm = new JobArm(system.Server, system.Library, shape)
           from items in arm.CountsOf(work).Select(count => Math.Min(count, most)).Distinct()
           select (arm, items),
    ];

    private int[] CountsOf(string work) =>
        Server == Postgres && Shape == JobShape.Single ? [work == JobReading.Kill ? FewerKilled : Fewer]
        : work == JobReading.Kill && Shape == JobShape.All(JobShape.Concurrent, resumes: true) ? [Items, Long]
        : [Items];
}
