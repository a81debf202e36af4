using System.Diagnostics;
using Npgsql;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Kills;
using Weir.Lab.Queues.Measuring;
using Weir.Lab.Work;

namespace Weir.Lab.Queues.Jobs;

/// <summary>
/// A worker process that is killed (SIGKILL) when half of the items are done, and started again: which items it does once more, and which nobody does. Counted is
/// what stands in the files of both, after the job system has nothing left.
/// </summary>
internal static class KilledJobs
{
    /// <summary>What the program is to do as a worker.</summary>
    public const string Worker = "job-worker";

    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(50);

    // A broker delivers again as soon as a connection has ended, so what comes again has come by then.
    private static readonly TimeSpan Quiet = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(75);

    // How a database tells what is still to be done.
    private static readonly Dictionary<string, string> Left = new()
    {
        ["postgres/Hangfire"] = "SELECT count(*) FROM hangfire.jobqueue",
        ["postgres/Quartz"] = "SELECT count(*) FROM qrtz_triggers",
    };

    /// <summary>Measures.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="shape">How many items a job has, and how it works them off.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="items">How many items there are.</param>
    /// <param name="progress">Is told of the kill.</param>
    public static async Task<JobReading> MeasureAsync(string name, JobShape shape, QueueAddress address, int items, TextWriter progress)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-killed-jobs-");
        try
        {
            int jobs = shape.JobsOf(items);
            int each = shape.ItemsOfAJob ?? items;
            await using (IQueueArm arm = QueueArms.Create(name, address))
            {
                await arm.OpenAsync();
                await Throughput.PublishAsync(arm, 0, jobs, job => QueueItem.OfItems(job, job * each, Math.Min(each, items - (job * each))));
            }

            int Done() => HandledFile.Read(folder.FullName).Distinct().Count();
            int atKill;
            using (Process first = KilledWorkers.Start(Worker, name, address, folder, 0, shape.Name))
            {
                await KilledWorkers.UntilAsync(Done, done => done >= items / 2, first);
                first.Kill();
                await first.WaitForExitAsync();
                atKill = Done();
            }

            progress.WriteLine($"{name}, {shape.Name}: killed, {atKill} of {items} done");
            long killed = Stopwatch.GetTimestamp();
            using Process second = KilledWorkers.Start(Worker, name, address, folder, 1, shape.Name);
            try
            {
                long end = await KilledWorkers.UntilAsync(Done, done => done == items, second);
                await NothingLeftAsync(name, address);
                int[] all = [.. HandledFile.Read(folder.FullName)];
                int distinct = all.Distinct().Count();
                return new JobReading(items, jobs)
                {
                    Seconds = Stopwatch.GetElapsedTime(killed, end).TotalSeconds,
                    AtKill = atKill,
                    Repeated = all.Length - distinct,
                    LeftOut = items - distinct,
                };
            }
            finally
            {
                second.Kill();
                await second.WaitForExitAsync();
            }
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    /// <summary>The worker: does jobs, whose items wait for 1 ms, until it is killed.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="shape">How many items a job has, and how it works them off.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="file">The file that it writes what it has done to. Checkpoints are in a folder beside it.</param>
    public static async Task WorkAsync(string name, JobShape shape, QueueAddress address, string file)
    {
        using HandledFile done = new(file);
        using WaitThread waits = new(TimeSpan.FromMilliseconds(1));
        string checkpoints = Directory.CreateDirectory(Path.Combine(Path.GetDirectoryName(file)!, "checkpoints")).FullName;
        await using JobWork work = new(shape, checkpoints, async item =>
        {
            await waits.WaitAsync();
            done.Add(item);
        });
        await using IQueueArm arm = QueueArms.Create(name, address);
        await arm.StartAsync(work.HandleAsync);
        await Task.Delay(Timeout.InfiniteTimeSpan);
    }

    private static async Task NothingLeftAsync(string name, QueueAddress address)
    {
        if (!Left.TryGetValue(name, out string? query))
        {
            await Task.Delay(Quiet);
            return;
        }

        await using NpgsqlDataSource database = NpgsqlDataSource.Create(address.Server);
        long began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(began) < Patience)
        {
            await using NpgsqlCommand command = database.CreateCommand(query);
            if ((long)(await command.ExecuteScalarAsync())! == 0)
            {
                return;
            }

            await Task.Delay(Look);
        }
    }
}
