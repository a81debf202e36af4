using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Jobs;

namespace Weir.Lab.Queues.Tests;

/// <summary>Items in jobs: what a job does with them, what the servers count, and what comes of a worker that is killed.</summary>
public class JobsTests
{
    public static TheoryData<string> Systems => ["postgres/Hangfire", "postgres/Quartz", "rabbitmq/MassTransit", "rabbitmq/Wolverine"];

    public static TheoryData<string> Shapes => [.. JobShape.Measured.Concat(JobShape.Killed).Select(static shape => shape.Name).Distinct()];

    [Fact]
    public void ReadItems_OfAJob_GivesThoseItWasMadeOf()
    {
        Assert.Equal([7, 8, 9], QueueItem.OfItems(3, 7, 3).ReadItems());
        Assert.Equal([-1], QueueItem.OfItems(0, -1, 1).ReadItems());
    }

    [Fact]
    public void JobsOf_ItemsThatFillNoJob_AreOneMore()
    {
        Assert.Equal((1001, 3, 1), (JobShape.Single.JobsOf(1001), JobShape.Batch.JobsOf(1001), JobShape.All(JobShape.Auto).JobsOf(1001)));
        Assert.Null(JobShape.Find("all"));
    }

    [Fact]
    public void Parse_ReadingAsText_GivesTheReading()
    {
        JobReading reading = new(7, 1) { Seconds = 1.5, Transactions = 3, Rows = 4, AtKill = 5, Repeated = 2, LeftOut = 1 };
        Assert.Equal(reading, JobReading.Parse(reading.ToString()));
    }

    [Theory]
    [InlineData("{counters,[5671,5672],12,10}\n", 12L)]
    [InlineData("{counters,[15672],12,10}\n", null)]
    [InlineData("Error: unable to perform an operation on node\n", null)]
    public void ParseBroker_OutputOfItsCommand_CountsForTheBrokerOfThePort(string output, long? messages)
    {
        ServerCounters counters = ServerCounters.ParseBroker(output, 5672);
        Assert.Equal((messages, messages - 2), (counters.Messages, counters.Acknowledged));
    }

    [Theory(Timeout = 60_000)]
    [MemberData(nameof(Shapes))]
    public async Task Handle_JobWhoseItemFails_FailsAndDoesTheRestWhenItIsRunAgain(string name)
    {
        const int Items = 100;
        const int Bad = 60;
        JobShape shape = JobShape.Find(name)!;
        int[] times = new int[Items];
        bool fails = true;
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-jobs-");
        try
        {
            await using JobWork work = new(shape, folder.FullName, item =>
            {
                if (item == Bad && fails)
                {
                    throw new InvalidOperationException("bad");
                }

                Interlocked.Increment(ref times[item]);
                return default;
            });
            QueueItem job = QueueItem.OfItems(0, 0, Items);
            await Assert.ThrowsAnyAsync<Exception>(() => work.HandleAsync(job));
            Assert.Equal(0, times[Bad]);
            fails = false;
            await work.HandleAsync(job);

            Assert.Equal(1, times[Bad]);
            Assert.All(times, count => Assert.InRange(count, 1, shape.Resumes ? 1 : 2));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [MemberData(nameof(Systems))]
    public async Task Measure_FewItems_DoesEachOnceAndReadsWhatTheServerCounts(string system)
    {
        foreach (JobShape shape in JobShape.Measured)
        {
            await using ServerUnderTest server = await ServerUnderTest.StartAsync(
                system, address => address with { Consumers = JobShape.AtOnce, Ahead = shape.Ahead });
            JobReading reading = await JobSpeed.MeasureAsync(system, shape, server.Address, 1000, JobReading.Wait);

            Assert.Equal((1000, shape.JobsOf(1000), 0, 0), (reading.Items, reading.Jobs, reading.Repeated, reading.LeftOut));
            Assert.InRange(reading.Seconds, 1000 * 0.001 / JobShape.AtOnce, double.MaxValue);
            Assert.InRange(reading.Enqueued, 0, reading.Seconds + 1);
            if (server.Address.IsBroker)
            {
                // With the one that shows that the worker runs. Others may use the broker too.
                Assert.Null(reading.Transactions);
                Assert.InRange(reading.Messages ?? int.MaxValue, reading.Jobs + 1, long.MaxValue);
            }
            else
            {
                Assert.Null(reading.Messages);
                Assert.InRange(reading.Transactions ?? 0, reading.Jobs, long.MaxValue);
                Assert.InRange(reading.Rows ?? 0, reading.Jobs, long.MaxValue);
            }
        }
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [MemberData(nameof(Systems))]
    public async Task Measure_WorkerThatIsKilled_LeavesNothingOutAndRepeatsWhatWasNotNoted(string system)
    {
        foreach ((string name, int items) in new[] { ("1", 200), ("500", 12_000), ("all, concurrent", 12_000), ("all, direct, resume", 6000) })
        {
            await using ServerUnderTest server = await ServerUnderTest.StartAsync(system);
            JobReading reading = await KilledJobs.MeasureAsync(system, JobShape.Find(name)!, server.Address, items, TextWriter.Null);

            Assert.Equal(0, reading.LeftOut);
            Assert.InRange(reading.AtKill ?? 0, items / 2, items);
            if (name == "all, concurrent")
            {
                Assert.Equal(reading.AtKill, reading.Repeated);
            }
            else if (name == "all, direct, resume")
            {
                // Three seconds of work: what was saved after one and two of them is not done again.
                Assert.InRange(reading.Repeated, 0, reading.AtKill!.Value - 1);
            }
            else
            {
                Assert.InRange(reading.Repeated, 0, reading.AtKill!.Value);
            }
        }
    }
}
