using System.Text.RegularExpressions;
using Weir.Lab.Queues.Jobs;

namespace Weir.Tables.Jobs;

/// <summary>The page of items in jobs of job systems: what its sections say, and the tables that are made of readings.</summary>
internal static partial class JobsPage
{
    public const string Nothing = "nothing";
    public const string Wait = "wait";
    public const string Kills = "kills";

    /// <summary>The command that makes it.</summary>
    public const string Command = "eng/tables job-systems --output docs/results/job-systems.md";

    private const string Head =
        """
        ![Items a second in four job systems: as a job each, as jobs of 500, and as one job on each of Weir's runtimes](../pictures/jobs.svg)

        **Why to believe it.** The arms take turns, and each turn is a process of its own with a database or a queue of its own. It does the same with fewer items first, so
        that its code is compiled. It ends when each item was done, and an item that was done twice is named. Transactions, rows and messages are what the servers
        count by themselves. Processor time and bytes written are those of the processes, as the system counts them.

        | items a job | what it is |
        |---|---|
        | 1 | each item is a job |
        | 500 | a job works on its 500 items one after the other, in a loop |
        | all, direct | one job on a `DirectRuntime`: one item after the other |
        | all, concurrent | one job on a `ConcurrentRuntime`: 20 items at a time |
        | all, parallel | one job on a `ParallelRuntime`: as many items as processors |
        | all, auto | one job on an `AutoRuntime`: at most 20 items at a time |
        | ..., resume | the same with `Resume`, which notes in a file what is done |

        All run at most 20 jobs at a time. A job carries the numbers of its items, and the effect of an item is that it is counted. 16 callers enqueue, and each waits
        until the server has its job. The worker runs in the same process. The time goes from the first call that enqueues to the last effect. Costs are
        counted until the worker has stopped, and include its start and one job more, which shows that it runs.

        Settings. Hangfire 1.8.25 with Hangfire.PostgreSql 1.21.1: `EnableLongPolling`, a sliding invisibility timeout of 30 s, and a `DistributedLockTimeout` of 30 s:
        by default, a job whose lock a dead worker has waits for 10 minutes. Quartz 4.7.3: its store in PostgreSQL, which takes as many triggers at a time as
        its pool has threads, and one-off jobs with `RequestRecovery`: without it, what a dead worker was doing is gone. MassTransit 8.5.12: a quorum queue,
        confirms. WolverineFx 6.62.0: a quorum queue, confirms, 20 inline listeners. Both have 200 messages ahead if each item is a job, and otherwise 20.
        PostgreSQL: `fsync` and `synchronous_commit` on. The servers and the program share one machine. Licences: Hangfire LGPL 3 or commercial, Quartz and MassTransit 8 Apache 2.0,
        Wolverine MIT.

        50,000 single jobs would take Hangfire and Quartz many minutes. So they get fewer, as the tables say, and their rates are those of so many: nothing is
        extrapolated. What takes longer than 20 s is measured in one round, and the rest is the median of the rounds.

        **The figures of the document that set the goal**, from 4 cores and Ruby: 5,826,083 items a second direct, 75,607 and 85,752 parallel, 39,472 concurrent, and
        140,981 as 1,000 batches of 50,000 on 3 workers. They are those of a job that has begun already: enqueuing and fetching are not in them, as it says. Here
        they are.


        """;

    private const string NothingText =
        """
        What the system itself takes: an item does nothing. With one job the time is that of a message and its round trips.
        """;

    private const string WaitText =
        """
        An item waits for 1 ms without a thread, as for another machine. So one after the other it is 1,000 a second at most, and 20 at a time 20,000.
        """;

    private const string KillsText =
        """
        A worker process with items of 1 ms writes a line for each into a file. When half of the items are done, it is killed (SIGKILL), and another one is
        started. *Repeated* are lines too many and *left out* items without a line, counted when the job system has nothing left; *s to end* goes from
        the kill to the last item, with the start of a process and whatever the job system waits for (30 s in Hangfire). Without `Resume` one job begins
        anew. With it, a job repeats what was done since the last save, and a save is made four times a second. The same with 200,000 items shows that this
        does not grow with the job.
        """;

    private const double Thousand = 1000;

    /// <summary>The sections, by their keys.</summary>
    public static IReadOnlyList<PageSection> Sections { get; } =
    [
        new(Nothing, "Items of nothing", NothingText),
        new(Wait, "Items of 1 ms", WaitText),
        new(Kills, "A worker that is killed", KillsText),
    ];

    /// <summary>What the program of the arms measures for a section.</summary>
    public static string WorkOf(string section) => section switch
    {
        Nothing => JobReading.Nothing,
        Wait => JobReading.Wait,
        _ => JobReading.Kill,
    };

    /// <summary>Makes the page.</summary>
    public static string Render(SectionPage page)
    {
        const string Title = "# Results: items in jobs of job systems\n\n";
        const string Made = $"Generated by `{Command}`,\nwhich takes about 40 minutes; to be repeated with it.\n\n";
        string answer = Answer(page);
        return page.Render($"{Title}{(answer.Length == 0 ? "" : $"**{answer}**\n\n")}{Made}{Head}", Sections);
    }

    /// <summary>The answer in a sentence, from the rates of items of 1 ms that stand on the page; empty if they do not.</summary>
    internal static string Answer(SectionPage page)
    {
        Dictionary<(string, string), double> rates = [];
        foreach (Match row in RateRow().Matches(page.Measured(Wait)))
        {
            rates[(row.Groups["system"].Value, row.Groups["shape"].Value)] = double.Parse(row.Groups["rate"].Value, NumberStyles.Number, CultureInfo.InvariantCulture);
        }

        string single = JobShape.Single.Name;
        string one = JobShape.All(JobShape.Concurrent).Name;
        (string Library, double Single, double One)[] systems =
        [
            .. from system in JobArm.Systems
               where rates.ContainsKey((system.Library, single)) && rates.ContainsKey((system.Library, one))
               select (system.Library, rates[(system.Library, single)], rates[(system.Library, one)]),
        ];
        return systems.Length == 0 ? "" : Invariant(
            $"Items of 1 ms in one job on a runtime, 20 at a time, against a job for each: {string.Join("; ", systems.Select(static s => Invariant(
                $"{s.One:N0} against {s.Single:N0} a second in {s.Library}")))}.");
    }

    /// <summary>The tables of a section.</summary>
    /// <param name="section">Its key.</param>
    /// <param name="arms">What was measured of each arm.</param>
    public static string Table(string section, IReadOnlyList<(JobArm Arm, IReadOnlyList<JobReading> Readings)> arms)
    {
        if (section == Kills)
        {
            return TablePage.Table(
                ["system", "items a job"],
                ["items", "at kill", "repeated", "left out", "s to end"],
                Rows(arms, static readings =>
                [
                    Whole(readings[0].Items), Whole(readings[0].AtKill), Whole(readings[0].Repeated), Whole(readings[0].LeftOut), Figure(readings[0].Seconds, "0.0"),
                ]));
        }

        string rates = TablePage.Table(
            ["system", "items a job"],
            ["items", "s", "jobs/s", "items/s"],
            Rows(arms, static readings =>
            [
                Whole(readings[0].Items),
                Seconds(Of(readings, static r => r.Seconds)),
                Rate(Of(readings, static r => r.Jobs / r.Seconds)),
                Rate(Of(readings, static r => r.Items / r.Seconds)),
            ]));
        return $"{rates}\nFor 1,000 items, with the start and the stop of the worker:\n\n{Costs(arms, isDatabase: true)}\n{Costs(arms, isDatabase: false)}\n{Effects(arms)}";
    }

    private static string Costs(IReadOnlyList<(JobArm Arm, IReadOnlyList<JobReading> Readings)> arms, bool isDatabase) => TablePage.Table(
        ["system", "items a job"],
        [.. isDatabase ? (string[])["transactions", "rows"] : ["messages", "acks"], "client ms", "server ms", "KB"],
        Rows(
            [.. arms.Where(arm => arm.Arm.Server == JobArm.Postgres == isDatabase)],
            readings =>
            [
                Each(readings, r => isDatabase ? r.Transactions : r.Messages),
                Each(readings, r => isDatabase ? r.Rows : r.Acknowledged),
                Each(readings, static r => r.Client * 1000),
                Each(readings, static r => r.Server * 1000),
                Each(readings, static r => r.Written / 1000.0),
            ]));

    private static string Effects(IReadOnlyList<(JobArm Arm, IReadOnlyList<JobReading> Readings)> arms)
    {
        string[] twice =
        [
            .. from arm in arms
               let times = arm.Readings.Sum(static r => r.Repeated)
               where times > 0
               select Invariant($"{arm.Arm.Library}, {arm.Arm.Shape.Name}: {times:N0}"),
        ];
        return twice.Length == 0 ? "Each item was done exactly once in all turns." : $"Each item was done; more than once: {string.Join("; ", twice)}.";
    }

    private static IEnumerable<IReadOnlyList<string>> Rows(
        IReadOnlyList<(JobArm Arm, IReadOnlyList<JobReading> Readings)> arms, Func<IReadOnlyList<JobReading>, string[]> cells) =>
        arms.Select(arm => (IReadOnlyList<string>)[arm.Arm.Library, arm.Arm.Shape.Name, .. cells(arm.Readings)]);

    private static double Of(IReadOnlyList<JobReading> readings, Func<JobReading, double?> figure) =>
        readings.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? TablePage.Median(values, static value => value) : double.NaN;

    private static string Each(IReadOnlyList<JobReading> readings, Func<JobReading, double?> figure) =>
        Rate(Of(readings, r => figure(r) * Thousand / r.Items));

    private static string Whole(int? value) => Invariant($"{value:N0}");

    private static string Seconds(double value) => Figure(value, value < 10 ? "0.000" : "0.0");

    private static string Rate(double value) => Figure(value, value < 10 ? "0.0#" : "#,0");

    private static string Figure(double value, string format) => double.IsNaN(value) ? "" : value.ToString(format, CultureInfo.InvariantCulture);

    [GeneratedRegex(@"^\| (?<system>\w+) \| (?<shape>[^|]+) \| [\d,]+ \| [\d.]+ \| [\d,.]+ \| (?<rate>[\d,.]+) \|$", RegexOptions.Multiline)]
    private static partial Regex RateRow();
}
