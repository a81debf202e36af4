using Weir.Runtimes;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>What the defaults do while something that all items need is away for long.</summary>
public sealed class OutageTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Run_EveryItemFailsForAnHour_MakesNoDeadLetter()
    {
        TimeSpan outage = TimeSpan.FromHours(1);
        var clock = new ManualTimeProvider();
        long start = clock.GetTimestamp();
        await using var queue = new MemoryWorkQueue<string>("mails", WorkSerializer.Text, new MemoryWorkQueueOptions { TimeProvider = clock });
        await using IWorkSink<string> sink = await queue.OpenSinkAsync(TestContext.Current.CancellationToken);
        await using IWorkSource<string> source = await queue.OpenSourceAsync(TestContext.Current.CancellationToken);
        await using var runtime = new ConcurrentRuntime(4);
        using var stop = new CancellationTokenSource();
        int most = 0;
        var host = new WorkHost<string>(
            source,
            runtime,
            (item, _) =>
            {
                most = Math.Max(most, item.Attempt);
                return clock.GetElapsedTime(start) < outage ? throw new TimeoutException("The database is away.") : default;
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, TimeProvider = clock });
        Task run = host.RunAsync(stop.Token);

        // At its beginning, in the middle of it, and a second before its end.
        int published = 0;
        foreach (TimeSpan at in new[] { TimeSpan.Zero, TimeSpan.FromMinutes(25), outage - TimeSpan.FromSeconds(1) })
        {
            while (clock.GetElapsedTime(start) < at)
            {
                await GoOnAsync(at - clock.GetElapsedTime(start));
            }

            await sink.WriteAsync(WorkItem.CreateMany(["a", "b", "c"]), position: null, TestContext.Current.CancellationToken);
            published += 3;
            await Guard.UntilAsync(() => host.Statistics.Failed >= published, "The first attempts");
        }

        while (host.Statistics.Succeeded + host.Statistics.DeadLettered < published)
        {
            await GoOnAsync(TimeSpan.FromHours(1));
        }

        await stop.CancelAsync();
        await run.WithinAsync();
        Assert.Equal((9, 0), (host.Statistics.Succeeded, host.Statistics.DeadLettered));
        Assert.InRange(most, 5, new WorkHostOptions<string> { DeadLetters = queue.DeadLetters }.MaxAttempts - 1);

        // To when the next item is due, when nothing runs.
        async Task GoOnAsync(TimeSpan atMost)
        {
            await Guard.UntilAsync(
                () => host.Statistics.InFlight == 0 && (clock.NextDue is not null || host.Statistics.Succeeded == published), "Nothing in flight");
            if (clock.NextDue is { } due)
            {
                TimeSpan left = due - clock.GetElapsedTime(start);
                clock.Advance(left < atMost ? left : atMost);
            }
        }
    }
}
