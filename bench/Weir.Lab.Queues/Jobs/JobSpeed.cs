using System.Diagnostics;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Measuring;
using Weir.Lab.Work;

namespace Weir.Lab.Queues.Jobs;

/// <summary>
/// How long a job system takes for items in jobs: from the call that enqueues the first job to the last effect, with a worker that runs and has nothing else to
/// do. The same process has done the same with fewer items just before, so its code is compiled, and what that has cost the server is not counted.
/// </summary>
internal static class JobSpeed
{
    // The jobs of the warm-up and the one that shows that the worker runs have numbers, and its item too, that no other has.
    private const int WarmUp = 1 << 30;
    private const int Ready = -1;

    private static readonly TimeSpan Length = TimeSpan.FromMilliseconds(1);

    /// <summary>Measures.</summary>
    /// <param name="name">The arm.</param>
    /// <param name="shape">How many items a job has, and how it works them off.</param>
    /// <param name="address">Where its queue is.</param>
    /// <param name="items">How many items there are.</param>
    /// <param name="work">What an item does: <see cref="JobReading.Nothing"/> or <see cref="JobReading.Wait"/>.</param>
    public static async Task<JobReading> MeasureAsync(string name, JobShape shape, QueueAddress address, int items, string work)
    {
        using WaitThread? waits = work == JobReading.Wait ? new WaitThread(Length) : null;
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-jobs-");
        try
        {
            int few = Math.Min(items, shape.ItemsOfAJob is { } each ? 300 * Math.Min(each, 10) : 2000);
            await RunAsync(name, shape, address, few, WarmUp, folder.FullName, waits);
            ServerProcess server = new(address.Port);
            ServerCounters before = await ServerCounters.ReadSettledAsync(address);
            long? written = server.Written();
            JobReading reading = await RunAsync(name, shape, address, items, firstJob: 0, folder.FullName, waits);
            ServerCounters after = await ServerCounters.ReadSettledAsync(address);
            return reading with
            {
                Written = server.Written() - written,
                Transactions = after.Transactions - before.Transactions,
                Rows = after.Rows - before.Rows,
                Messages = after.Messages - before.Messages,
                Acknowledged = after.Acknowledged - before.Acknowledged,
            };
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static async Task<JobReading> RunAsync(
        string name, JobShape shape, QueueAddress address, int items, int firstJob, string folder, WaitThread? waits)
    {
        ServerProcess server = new(address.Port);
        Ledger ledger = new(items, 0, TimeSpan.Zero, () => Spent.Read(server));
        TaskCompletionSource ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int jobs = shape.JobsOf(items);
        int each = shape.ItemsOfAJob ?? items;
        async ValueTask EffectAsync(int item)
        {
            if (waits is not null)
            {
                await waits.WaitAsync();
            }

            if (item == Ready)
            {
                ready.TrySetResult();
            }
            else
            {
                ledger.Note(item);
            }
        }

        Spent begin;
        TimeSpan enqueued;
        await using (JobWork work = new(shape, folder, EffectAsync))
        {
            await using IQueueArm arm = QueueArms.Create(name, address);
            await arm.OpenAsync();
            await arm.StartAsync(work.HandleAsync);
            await arm.PublishAsync(QueueItem.OfItems(firstJob - 1, Ready, 1));
            await ready.Task;
            begin = Spent.Read(server);
            await Throughput.PublishAsync(
                arm, firstJob, jobs, job => QueueItem.OfItems(job, (job - firstJob) * each, Math.Min(each, items - ((job - firstJob) * each))));
            enqueued = Stopwatch.GetElapsedTime(begin.Clock);
            await ledger.All;
        }

        // What a job does after its last effect, such as its acknowledgement, is paid too.
        Spent end = Spent.Read(server);
        return new JobReading(items, jobs)
        {
            Enqueued = enqueued.TotalSeconds,
            Seconds = Stopwatch.GetElapsedTime(begin.Clock, ledger.End.Clock).TotalSeconds,
            Client = end.Client - begin.Client,
            Server = end.Server - begin.Server,
            Repeated = ledger.Doubled,
        };
    }
}
